/* SPDX-License-Identifier: MIT */
/*
 * Reel: the tape for reverse-mode automatic differentiation.
 *
 * reel/tape.h   push, pop, records, bits, spans, marks, errors: start here
 * reel/run.h    long loops, with memory for a few of their states; model.h: the callbacks
 * reel/pool.h   where tapes get their memory: budgets, recycling; figures.h: statistics
 * reel/store.h  where slabs go that have no room in memory: disk, compressed memory, GPU
 * reel/error.h  the results of functions that fail, and the texts of failures
 *
 * Included only where they are needed:
 *
 * reel/parcel.h     buffers of any size, read in any order, that leave memory as slabs do
 * reel/recording.h  tapes that are reversed again, or that several threads reverse
 * reel/plan.h       plans and their costs; runs that the program drives, as it owns the loop
 * reel/omp.h        OpenMP: region.h, worker.h, task.h, adjoint.h, reduction.h (-lreel-omp)
 * reel/mpi.h        messages between the ranks of MPI (-lreel-mpi)
 * reel/gpu.h        stores and tapes on a GPU: arena.h, host-tape.h, device.cuh (-lreel-cuda)
 * reel/enzyme.h     the checkpoint scheme of Enzyme (-lreel-enzyme)
 * reel/extend.h     stores and layers of your own
 * reel.hpp          the tape, lanes, runs and parcels for C++, with owners and exceptions
 */
#ifndef REEL_H
#define REEL_H

#include <reel/version.h>
#include <reel/error.h>
#include <reel/pool.h>
#include <reel/store.h>
#include <reel/tape.h>
#include <reel/run.h>

#endif
