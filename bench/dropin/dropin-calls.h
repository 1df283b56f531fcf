/* SPDX-License-Identifier: MIT */
/* Prototypes of a stack whose functions begin with a word of its own. */
#define DROPIN_CALLS(word)                                                                         \
	void word##_push_real8(double x);                                                          \
	void word##_pop_real8(double *x);                                                          \
	void word##_push_integer4(int x);                                                          \
	void word##_pop_integer4(int *x);                                                          \
	void word##_push_control(int x);                                                           \
	void word##_pop_control(int *x);                                                           \
	void word##_push_array(double *x, int n);                                                  \
	void word##_pop_array(double *x, int n);
