#!/bin/sh
# The program that README.md shows compiles as it stands and gives the right gradient.
. "$SOURCE_DIR/tests/tap/tap.sh"

sed -n '/^```c$/,/^```$/{/^```/d;p;}' "$SOURCE_DIR/README.md" >gradient.c
$CC $CFLAGS -std=c11 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" -o gradient gradient.c \
	-L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel -lm >messages 2>&1
is_empty messages 'README.md: the program compiles without a warning'

# d/da of a2 sin(a1 sin(a0 sin 1)) at a = 0.5, 1, 1.5, by central differences.
awk 'function f(a, b, c) { return c * sin(b * sin(a * sin(1))) }
	BEGIN { h = 1e-6; printf "dx/da = %g %g %g\n",
		(f(.5 + h, 1, 1.5) - f(.5 - h, 1, 1.5)) / (2 * h),
		(f(.5, 1 + h, 1.5) - f(.5, 1 - h, 1.5)) / (2 * h),
		(f(.5, 1, 1.5 + h) - f(.5, 1, 1.5 - h)) / (2 * h) }' >wanted
./gradient >seen 2>&1
diff wanted seen >difference
is_empty difference 'README.md: the program prints the gradient that differences give'
end
