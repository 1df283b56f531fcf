#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the word `gpu` in the description of a store. Programs find libreel-cuda, and it finds the driver's
# library, which is here a fake, no driver, or too old.
. "$SOURCE_DIR/tests/tap/tap.sh"

libraries=$BUILD_DIR/.libs
fake=$libraries/libreel-fake-driver.so
[ -f "$libraries/libreel-cuda.so" ] && [ -f "$fake" ] ||
	skip_all 'there is no shared library to load'

include="-I$SOURCE_DIR/include"
$CC $CFLAGS -std=c11 $include -o shared "$SOURCE_DIR/tests/gpu/gpu-open.c" -L"$libraries" \
	-Wl,-rpath,"$libraries" -lreel >messages 2>&1
is_empty messages 'a program that is linked with libreel alone'

mkdir fake none old alone amd old-amd
ln -s "$fake" fake/libcuda.so.1
for library in libcuda.so.1 libamdhip64.so libamdhip64.so.5 libamdhip64.so.6 libamdhip64.so.7; do
	echo 'no library' >none/$library
	cp none/$library amd
	cp none/$library old-amd
done
rm amd/libamdhip64.so.6 old-amd/libamdhip64.so.6
ln -s "$fake" amd/libamdhip64.so.6
echo 'int cuInit(unsigned flags) { return (int)flags; }' >old.c
$CC $CFLAGS -w -shared -fPIC -o old/libcuda.so.1 old.c
cp old/libcuda.so.1 old-amd/libamdhip64.so.6
cp "$libraries/libreel.so.0" alone

# says DRIVER DESCRIPTION PATTERN WHAT: a check that the program prints the pattern with this driver.
says() {
	LD_LIBRARY_PATH=$1 ./shared "$2" >said 2>&1
	grep -q -e "$3" said
	ok $? "$4"
	sed 's/^/#   /' said
}

says fake gpu=4M,memory=8M '^checksum registers keeps: no error$' 'fake device: a stack with an overflow store on it opens'
says fake gpu=4M '^checksum registers keeps: no error$' 'fake device: so does one that is nothing else'
FAKE_LINK=1e9 says fake gpu=4M '^checksum registers keeps: no error$' 'fake device: over a paced link it keeps a block as well'
FAKE_DEVICES=0
export FAKE_DEVICES
says fake gpu=4M,memory=8M '^checksum copies keeps: .*CUDA_ERROR_NO_DEVICE' \
	'fake device: without a device the next store is used, and it is said why'
says fake gpu=4M '^error No such device: .*CUDA_ERROR_NO_DEVICE' 'or there is none'
unset FAKE_DEVICES
says fake gpu=64T,memory=8M '^checksum copies keeps: .*CUDA_ERROR_OUT_OF_MEMORY' \
	'fake device: without so much memory, too'
says fake gpu=64T '^error Cannot allocate memory: .*CUDA_ERROR_OUT_OF_MEMORY' 'or there is none'
says none gpu=4M,memory=8M '^checksum copies keeps: no GPU: no NVIDIA driver: .*libcuda.*libamdhip64' \
	'a driver that cannot be loaded is said to be none'
says amd gpu=4M,memory=8M '^checksum registers keeps: no error$' 'fake device: AMD'"'"'s driver is used where there is no other one'
FAKE_DEVICES=0 says amd gpu=4M '^error No such device: no GPU: .*NO_DEVICE' 'fake device: or it says why not'
says old-amd gpu=4M '^error No such device: no GPU: libamdhip64.so.6 has no hip.*newer ROCm' \
	'a HIP without a function that is needed is said to be too old'
says old gpu=4M,memory=8M '^checksum copies keeps: no GPU: libcuda.* has no cu.*newer' \
	'a driver without a function that is needed is said to be too old'

# A libreel without libreel-cuda beside it, which the system's loader does not find either.
if [ -n "$LD_LIBRARY_PATH" ] || ldconfig -p 2>/dev/null | grep -q libreel-cuda; then
	skip 'libreel-cuda may be found elsewhere'
else
	$CC $CFLAGS -std=c11 $include -o lonely "$SOURCE_DIR/tests/gpu/gpu-open.c" -L"$libraries" \
		-Wl,-rpath,"$PWD/alone" -lreel
	./lonely gpu=4M,memory=8M >said 2>&1
	grep -q '^checksum copies keeps: .*libreel-cuda.*install it' said
	ok $? 'where libreel-cuda is not installed, it is said how to have a GPU'
	sed 's/^/#   /' said
fi

# A statically linked program has its own libreel, and libreel-cuda uses another one.
if [ -f "$libraries/libreel-core.a" ]; then
	$CC $CFLAGS -std=c11 $include -o static "$SOURCE_DIR/tests/gpu/gpu-open.c" \
		"$libraries/libreel-core.a" $STATIC_LIBS -pthread -lm >messages 2>&1
	is_empty messages 'a program into which libreel is linked'
	LD_LIBRARY_PATH=fake:$libraries ./static gpu=4M,memory=8M >said 2>&1
	grep -q '^checksum registers keeps: no error$' said
	ok $? 'fake device: it finds libreel-cuda where the system looks'
	LD_LIBRARY_PATH=none:$libraries ./static gpu=4M >said 2>&1
	grep -q '^error No such device: no GPU: no NVIDIA driver' said
	ok $? 'the message says what that says'
	sed 's/^/#   /' said
fi

LD_LIBRARY_PATH=fake:$libraries "$BUILD_DIR/tools/reel" info >said
grep -q '^gpu_name: *fake device 0$' said
ok $? 'fake device: reel info names it'
LD_LIBRARY_PATH=fake:$libraries "$BUILD_DIR/tools/reel" info | grep '^gpu_' >nvidia
LD_LIBRARY_PATH=amd:$libraries "$BUILD_DIR/tools/reel" info | grep '^gpu_' >amd-said
cmp nvidia amd-said
ok $? 'fake device: by HIP it is described as by CUDA'
LD_LIBRARY_PATH=none:$libraries "$BUILD_DIR/tools/reel" info >said
grep -q '^gpu_problem: *no GPU: no NVIDIA driver' said
ok $? 'the message says why there is no GPU'
end
