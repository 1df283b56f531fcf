#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests the Python package with PyTorch: the tests of reel.offload(), reel.checkpoint() and reel.audit(), and the examples
# of the page, by pytest.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/python/pytest.sh"

run_pytest "$SOURCE_DIR"/tests/python/test_offload*.py "$SOURCE_DIR/tests/python/test_audit.py" \
	"$SOURCE_DIR/tests/python/test_checkpoint.py" \
	"$SOURCE_DIR/python/reel/_offload.py" "$SOURCE_DIR/python/reel/_audit_torch.py" \
	"$SOURCE_DIR/python/README.md"
# In another process: PyTorch counts the devices before its first backward pass.
run_pytest "$SOURCE_DIR/tests/python/test_fake_device.py"
end
