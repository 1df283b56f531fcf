/* SPDX-License-Identifier: MIT */
/* C code of early versions calls in lower case; the forced header knows these names. */
#include <stdio.h>
#include <string.h>
#include <adStack.h>

int main(void)
{
	double x[3] = {1, 2, 3}, y[3] = {0}, z = 0;
	int i = 0, branch = 0;

	pushreal8array(x, 3);
	pushinteger4(7);
	pushcontrol3b(5);
	pushreal8(2.5);
	lookreal8(&z);
	popreal8(&z);
	popcontrol3b(&branch);
	popinteger4(&i);
	popreal8array(y, 3);
	pushNArray((char *)x, 24, 1);
	popNArray((char *)y, 24, 1);
	printf("%d %d %g %d\n", branch, i, z, memcmp(x, y, sizeof x));
	return 0;
}
