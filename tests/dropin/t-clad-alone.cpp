/* SPDX-License-Identifier: MIT */
/*
 * Printed gradients without Clad: reel/clad/alone.h is force-included, and the tape has the name
 * that Clad prints.
 */
double cube(double x, double *calls)
{
	*calls += 1;
	return x * x * x;
}

/* f = sum of the cubes of x. Each call of cube() is counted in a variable of the caller. */
static double gradient(const double *x, int n, double *_d_x)
{
	double calls = 0, s = 0, _d_s = 0, last[2] = {0, 0};
	int i = 0;
	clad::tape<clad::restore_tracker> _tracker0 = {};
	clad::tape<double[2]> _t1 = {};
	clad::tape<double> _t2 = {};
	unsigned long _t0 = 0UL;
	for (i = 0; i < n; ++i) {
		_t0++;
		clad::push(_tracker0, clad::restore_tracker());
		clad::back(_tracker0).store(calls);
		clad::push(_t2, s);
		s += cube(x[i], &calls);
		clad::back(_tracker0).store(calls);
		clad::push(_t1, last), last[0] = s, last[1] = x[i];
	}
	_d_s += 1;
	for (; _t0; _t0--) {
		--i;
		{
			clad::move(clad::back(_t1), last);
			clad::pop(_t1);
		}
		{
			clad::back(_tracker0).restore();
			clad::pop(_tracker0);
		}
		s = clad::pop(_t2);
		_d_x[i] += 3 * x[i] * x[i] * _d_s;
	}
	return calls + last[0] + last[1] + s;
}

int main()
{
	const int n = 1000;
	double x[n], d[n], left;
	bool right = true;

	clad::zero_init(d);
	for (int i = 0; i < n; i++)
		x[i] = i;
	left = gradient(x, n, d);
	for (int i = 0; i < n; i++)
		right = right && d[i] == 3.0 * i * i;
	return right && left == 0 ? 0 : 1;
}
