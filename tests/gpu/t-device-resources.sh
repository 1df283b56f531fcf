#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels of the examples compile for GPUs without spilling registers. CUDA_ARCHITECTURES lists the
# architectures, such as "75 80 86 89 90 100 120".
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -n "$NVCC" ] || skip_all 'there is no nvcc'
[ -n "$TEST_LONG" ] || skip_all 'the kernels are the same in every build'

for architecture in ${CUDA_ARCHITECTURES:-90}; do
	NVCC=$NVCC "$SOURCE_DIR/examples/gpu/resources.sh" "$architecture" >table 2>messages
	ok $? "compiled for sm_$architecture: without a spilled register"
	sed 's/^/#   /' messages
	known=$(sed -n '/^| [a-z_]/p' "$SOURCE_DIR/examples/gpu/RESOURCES.md" | wc -l)
	[ "$(grep -c '^| [a-z_]' table)" -eq "$known" ]
	ok $? "compiled for sm_$architecture: the kernels that examples/gpu/RESOURCES.md lists"
done
end
