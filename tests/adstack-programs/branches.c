/* SPDX-License-Identifier: MIT */
/* Branches, loops of unknown length, early exits and all small types, as in generated code. */
#include <stdio.h>
#include <math.h>
#include <adStack.h>

#define N 400

static double x[N], xb[N];

static double walk_fwd(double y, int i)
{
	int count = 0, branch;

	while (y > 0.1) {
		pushReal8(y);
		if (y > 3) {
			y = sqrt(y);
			branch = 0;
		} else if (i % 3 == 0) {
			y = 0.5 * y * x[i];
			branch = 1;
		} else if (count > 5) {
			pushControl2b(3);
			count++;
			break;
		} else {
			y = sin(y) * x[(i + count) % N];
			branch = 2;
		}
		pushCharacter((char)('a' + count % 26));
		pushControl2b(branch);
		count++;
	}
	pushInteger4(count);
	return y;
}

static double walk_bwd(double yb, int i)
{
	int count, branch;
	double y;
	char letter;

	popInteger4(&count);
	for (int k = count - 1; k >= 0; k--) {
		popControl2b(&branch);
		if (branch == 3) {
			popReal8(&y);
			continue;
		}
		popCharacter(&letter);
		if (letter != 'a' + k % 26)
			printf("letter\n");
		popReal8(&y);
		if (branch == 0) {
			yb = yb / (2 * sqrt(y));
		} else if (branch == 1) {
			xb[i] += 0.5 * y * yb;
			yb = 0.5 * x[i] * yb;
		} else {
			xb[(i + k) % N] += sin(y) * yb;
			yb = cos(y) * x[(i + k) % N] * yb;
		}
	}
	return yb;
}

int main(void)
{
	double sum = 0, *where;
	int branch, flag, table[7];
	float single;
	long wide;

	for (int i = 0; i < N; i++)
		x[i] = 0.3 + (i * 37 % 100) / 60.0;
	for (int i = 0; i < N; i++) {
		double y = walk_fwd(x[i] * x[i], i);

		pushControl2b(1);
		if (y > 0.05) {
			pushPointer8(&x[i]);
			pushReal4((float)y);
			pushControl3b(i % 8);
			sum += y;
		} else {
			for (int k = 0; k < 7; k++)
				table[k] = i * k;
			pushInteger4Array(table, 7);
			pushInteger8((long)i << 33);
			pushBoolean(i % 2);
		}
		pushControl1b(y > 0.05);
	}
	printf("%a\n", sum);
	for (int i = N - 1; i >= 0; i--) {
		double yb = 0;

		popControl1b(&branch);
		if (branch) {
			popControl3b(&flag);
			popReal4(&single);
			popPointer8((void **)&where);
			printf("%d %a %d ", flag, single, (int)(where - x));
			yb = 1;
		} else {
			popBoolean(&flag);
			popInteger8(&wide);
			popInteger4Array(table, 7);
			printf("%d %ld %d ", flag, wide, table[6]);
		}
		popControl2b(&branch);
		yb = walk_bwd(yb, i);
		xb[i] += 2 * x[i] * yb;
	}
	for (int i = 0; i < N; i++)
		printf("%a\n", xb[i]);
	return 0;
}
