/* SPDX-License-Identifier: MIT */
/*
 * How the elements of a stage are run through: here by a thread that has a block of rows. Kernels
 * are made of the same stages, shallow.c and adjoint.c, by gpu.cu, which says this in its own way.
 */
#ifndef TSUNAMI_STAGE_H
#define TSUNAMI_STAGE_H

#ifndef STAGE
#define STAGE
#define STAGE_HELPER /* of functions that stages and others call */
#define EACH_ROW(j, first, last) for (int j = (first); j < (last); j++)
#define EACH_COLUMN(i, columns) for (int i = 0; i < (columns); i++)
#if defined(_OPENMP)
#define VECTOR_LOOP _Pragma("omp simd")
#elif defined(__clang__)
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define VECTOR_LOOP _Pragma("GCC ivdep")
#else
#define VECTOR_LOOP
#endif
#endif

#endif
