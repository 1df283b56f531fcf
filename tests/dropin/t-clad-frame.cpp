/* SPDX-License-Identifier: MIT */
/* A gradient with 19 tapes, to measure its stack frame and the time to compile it. */
#if defined(SLABS)
#include "peers/clad-slabs.h"
template <class T> using tape = slabs::slab_tape<T>;
#else
template <class T> using tape = clad::custom_tape<T>;
#endif

double gradient(const double *x, int n, double *_d_x)
{
	tape<double> _t1 = {}, _t2 = {}, _t3 = {}, _t4 = {}, _t5 = {}, _t6 = {}, _t7 = {}, _t8 = {};
	tape<double> _t9 = {}, _t10 = {}, _t11 = {}, _t12 = {}, _t13 = {}, _t14 = {};
	tape<bool> _cond0 = {}, _cond1 = {};
	tape<unsigned long> _t15 = {};
	tape<const double *> _t16 = {};
	tape<int> _t17 = {};
	double s = 0, _d_s = 1;
	int i, j = 0;
	unsigned long _t0 = 0UL;

	for (i = 0; i < n; ++i) {
		_t0++;
		push(_cond0, x[i] < 0);
		if (back(_cond0)) {
			push(_t1, s), s *= x[i];
			push(_t2, s), s *= x[i];
			push(_t3, s), s *= x[i];
			push(_t4, s), s *= x[i];
			push(_t5, s), s *= x[i];
		} else {
			push(_t6, s), s += s * x[i];
			push(_t7, s), s += s * x[i];
			push(_t8, s), s += s * x[i];
			push(_t9, s), s += s * x[i];
		}
		push(_t16, x);
		push(_t15, 0);
		for (push(_t17, j), j = 0; j < 3; ++j) {
			back(_t15)++;
			push(_cond1, s > 100);
			if (back(_cond1))
				push(_t10, s), push(_t11, s), s *= 0.5;
			else
				push(_t12, s), push(_t13, s), push(_t14, s), s += x[j];
		}
	}
	for (; _t0; _t0--) {
		--i;
		for (; back(_t15); back(_t15)--) {
			--j;
			if (back(_cond1)) {
				s = pop(_t11), s += pop(_t10), _d_s *= 0.5;
			} else {
				s = pop(_t14), s += pop(_t13), s += pop(_t12), _d_x[j] += _d_s;
			}
			pop(_cond1);
		}
		j = pop(_t17);
		pop(_t15);
		x = pop(_t16);
		if (back(_cond0)) {
			_d_x[i] += pop(_t5) * _d_s, _d_s *= x[i];
			_d_x[i] += pop(_t4) * _d_s, _d_s *= x[i];
			_d_x[i] += pop(_t3) * _d_s, _d_s *= x[i];
			_d_x[i] += pop(_t2) * _d_s, _d_s *= x[i];
			_d_x[i] += pop(_t1) * _d_s, _d_s *= x[i];
		} else {
			_d_x[i] += pop(_t9) * _d_s, _d_s += _d_s * x[i];
			_d_x[i] += pop(_t8) * _d_s, _d_s += _d_s * x[i];
			_d_x[i] += pop(_t7) * _d_s, _d_s += _d_s * x[i];
			_d_x[i] += pop(_t6) * _d_s, _d_s += _d_s * x[i];
		}
		pop(_cond0);
	}
	return s + _d_s;
}
