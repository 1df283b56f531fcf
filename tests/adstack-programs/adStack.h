/* SPDX-License-Identifier: MIT */
/* What generated C code includes; reel-adstack.h keeps it out where it is forced in. */
#ifndef ADSTACK_INCLUDED
#define ADSTACK_INCLUDED

#include <stdint.h>

void pushReal8(double x);
void popReal8(double *x);
void pushReal4(float x);
void popReal4(float *x);
void pushInteger4(int x);
void popInteger4(int *x);
void pushInteger8(long x);
void popInteger8(long *x);
void pushCharacter(char x);
void popCharacter(char *x);
void pushPointer8(void *x);
void popPointer8(void **x);
void pushBoolean(int x);
void popBoolean(int *x);
void pushControl1b(int branch);
void popControl1b(int *branch);
void pushControl2b(int branch);
void popControl2b(int *branch);
void pushControl3b(int branch);
void popControl3b(int *branch);
void pushReal8Array(double *x, int n);
void popReal8Array(double *x, int n);
void pushInteger4Array(int *x, int n);
void popInteger4Array(int *x, int n);
void adStack_startRepeat(void);
void adStack_resetRepeat(void);
void adStack_endRepeat(void);
uint64_t adStack_getCurrentStackSize(void);

#endif
