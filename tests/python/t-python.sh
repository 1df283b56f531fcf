#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests the Python package, except its parts for PyTorch and JAX, which t-torch.sh and t-jax.sh test: its tests and the examples in its texts,
# by pytest, and its types, by mypy.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/python/pytest.sh"

run_pytest "$SOURCE_DIR/tests/python" "$SOURCE_DIR/python/reel" \
	--ignore-glob="$SOURCE_DIR/tests/python/test_offload*" --ignore="$SOURCE_DIR/python/reel/_offload.py" \
	--ignore="$SOURCE_DIR/tests/python/test_audit.py" --ignore="$SOURCE_DIR/python/reel/_audit_torch.py" \
	--ignore="$SOURCE_DIR/tests/python/test_checkpoint.py" --ignore-glob="$SOURCE_DIR/tests/python/*fake*" \
	--ignore="$SOURCE_DIR/tests/python/test_jax.py" --ignore-glob="$SOURCE_DIR/python/reel/*jax*.py"
if "$python" -c 'import mypy' 2>/dev/null; then
	(cd "$SOURCE_DIR/python" && "$python" -m mypy --cache-dir="$tap_directory/mypy" --ignore-missing-imports reel) >types 2>&1
	ok $? 'mypy finds no wrong type'
	sed '/^Success/d; s/^/#   /' types
else
	skip 'types: there is no mypy'
fi
end
