# SPDX-License-Identifier: MIT
# The jax stage, for stage.sh: JAX of the package index, in a virtual environment.

jax_version=0.10.2

# index_jax: makes the virtual environment, and sets TEST_PYTHON, its interpreter. Wheels stay in a folder outside of
# the sources, for the next clone: 180 MB.
index_jax() {
	local environment=$PWD/$directory/python wheels=${XDG_CACHE_HOME:-$HOME/.cache}/reel/jax-$jax_version
	export TEST_PYTHON=$environment/bin/python3
	[ ! -e "$environment/jax-$jax_version" ] || return 0
	rm -rf "$environment"
	/usr/bin/python3 -m venv "$environment" && mkdir -p "$wheels" || return
	[ -e "$wheels/complete" ] || {
		"$TEST_PYTHON" -m pip download -d "$wheels" "jax==$jax_version" "jaxlib==$jax_version" pytest &&
			touch "$wheels/complete" || return
	}
	"$TEST_PYTHON" -m pip install --no-index --find-links "$wheels" jax jaxlib pytest &&
		"$TEST_PYTHON" -c 'import jax; assert jax.devices()[0].platform == "cpu"' && touch "$environment/jax-$jax_version"
} >"$directory/jax.log" 2>&1
