/* SPDX-License-Identifier: MIT */
/* A program in the shape of Tapenade's that uses the installed libreel-adstack, in C and C++. */
#ifdef __cplusplus
extern "C" {
#endif
void pushReal8(double x);
void popReal8(double *x);
void pushControl1b(int x);
void popControl1b(int *x);
void pushReal8Array(double *x, int n);
void popReal8Array(double *x, int n);
#ifdef __cplusplus
}
#endif

int main(void)
{
	double x = 0, three[3] = {1, 2, 3};
	int branch = 0;

	pushReal8(0.5);
	pushControl1b(1);
	pushReal8Array(three, 3);
	three[2] = 0;
	popReal8Array(three, 3);
	popControl1b(&branch);
	popReal8(&x);
	return !(x == 0.5 && branch == 1 && three[2] == 3);
}
