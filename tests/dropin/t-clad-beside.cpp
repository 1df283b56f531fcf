/* SPDX-License-Identifier: MIT */
/*
 * Reel's tape beside Clad's headers, which declare the same names in the same namespace. The calls
 * of generated code must find the right functions, and those on Clad's own tape must find Clad's.
 */
#include "helpers/clad-names.h"

struct fields {
	unsigned bits : 3;
	static const int constant = 4;
};

int main()
{
	clad::custom_tape<double> _t0 = {};
	clad::custom_tape<double[2]> _t1 = {};
	clad::custom_tape<float[2]> _t3 = {};
	clad::custom_tape<bool> _cond0 = {};
	clad::custom_tape<unsigned long> _t2 = {};
	clad::custom_tape<double, 64, 1024, false, true> _t4 = {};
	clad::custom_tape<double[2], 32, 512> _t5 = {};
	clad::tape<double> own = {};
	double x = 1.5, pair[2] = {1, 2};
	fields f = {5};

	clad::push(_t0, x);
	clad::push(_t1, pair);
	clad::push(_cond0, x > 1);
	clad::push(_t2, 0);
	clad::push(_t2, f.bits);
	clad::push(_t2, fields::constant);
	clad::push(own, x);
	clad::push(_t3, pair);
	clad::push(_t4, x);
	clad::push(_t5, pair);
	bool right = clad::back(_t0) == 1.5 && clad::back(_t1)[1] == 2 && clad::back(_cond0) &&
		     clad::back(own) == 1.5 && clad::back(_t3)[1] == 2;
	right = right && clad::back(_t4) == 1.5 && clad::pop(_t4) == 1.5 && _t5[0][1] == 2;
	clad::pop(_t5);
	clad::pop(_t1);
	right = right && clad::pop(_t0) == 1.5 && clad::pop(_cond0) && clad::pop(_t2) == 4 &&
		clad::pop(_t2) == 5 && clad::pop(_t2) == 0 && clad::pop(own) == 1.5;
	return right && _t1.empty() && _t5.empty() && own.count == 0 ? 0 : 1;
}
