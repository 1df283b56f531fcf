#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests reel.jax with JAX: builds its foreign calls with the header of jaxlib, and runs its tests and the examples of
# the page by pytest.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/python/pytest.sh"

header=$("$python" -c 'import jax; print(jax.ffi.include_dir())' 2>/dev/null) || skip_all 'python3 has no JAX'
case " $CFLAGS " in *' -m32 '*) skip_all 'JAX has no 32 bits' ;; esac

"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -fvisibility=hidden -shared -fPIC \
	-I"$SOURCE_DIR/include" -I"$BUILD_DIR/include" -isystem "$header" -o libreel-jax.so \
	"$SOURCE_DIR/python/jax-calls.c" "$REEL_LIBRARY" \
	-pthread >compiled 2>&1
ok $? 'the foreign calls compile'
sed 's/^/#   /' compiled
ln -s "$REEL_LIBRARY" libreel.so.0
export REEL_LIBRARY=$PWD/libreel.so.0

run_pytest "$SOURCE_DIR/tests/python/test_jax.py" "$SOURCE_DIR/python/reel/jax.py" \
	"$SOURCE_DIR/python/README.md"
end
