#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests the Python package with PyTorch: the tests of reel.offload(), reel.checkpoint() and reel.audit(), and the examples
# of the page, by pytest.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/python/pytest.sh"

run_pytest "$SOURCE_DIR/tests/python/test_offload.py" "$SOURCE_DIR/tests/python/test_offload_torch2.py" \
	"$SOURCE_DIR/tests/python/test_offload_trainer.py" "$SOURCE_DIR/tests/python/test_audit.py" \
	"$SOURCE_DIR/tests/python/test_checkpoint.py" \
	"$SOURCE_DIR/python/reel/_offload.py" "$SOURCE_DIR/python/reel/_audit_torch.py" \
	"$SOURCE_DIR/python/README.md"
# In another process: PyTorch counts the devices before its first backward pass.
run_pytest "$SOURCE_DIR/tests/python/test_fake_device.py" "$SOURCE_DIR/tests/python/test_offload_device.py"

# bench/perceptron.py on the CPU, with small tensors.
measure() {
	"$python" "$SOURCE_DIR/bench/perceptron.py" --directory . --layers 12 --mib 1 --width 64 --warm 1 --repeat 1 \
		"$@" >table 2>err
}
if "$python" -c 'import torch' 2>/dev/null; then
	measure --ways copies,device,memory,disk
	found=$?
	ok $found 'perceptron.py finds the same gradients in each way'
	[ $found -eq 0 ] || sed 's/^/#   /' table err
	[ "$(grep -cE '^\| .*( \| [0-9.]+){4} \|' table)" -eq 7 ]
	ok $? 'it prints the times of each way'
	# These take the place of reel.
	mkdir -p wrong failing
	echo 'from torch.autograd import graph' | tee wrong/reel.py >failing/reel.py
	echo 'offload = lambda *_, **__: graph.saved_tensors_hooks(lambda x: x, lambda x: x.clone().fill_(1))' >>wrong/reel.py
	echo 'offload = lambda *_, **__: graph.saved_tensors_hooks(lambda x: 1 / 0, None)' >>failing/reel.py
	! PYTHONPATH=wrong measure --models perceptron --ways device,memory &&
		grep -q '^FAULT: perceptron: memory: WRONG GRADIENTS' table
	ok $? 'wrong gradients are a fault'
	! PYTHONPATH=failing measure --models perceptron --ways device,memory,pageable &&
		grep -q '^FAULT: perceptron: memory: failed' table && grep -q '^| `save_on_cpu()` | [0-9.]* |' table
	ok $? 'so is a way that fails, and the others are measured'
	measure --device cuda --ways device || grep -q 'PyTorch sees no GPU here' err
	ok $? 'without a GPU it says so'
else
	skip 'perceptron.py: there is no PyTorch'
fi
end
