# SPDX-License-Identifier: MIT
# The jax stage, for stage.sh: JAX of the package index, and packages that use it, in a virtual environment.

jax_version=0.10.2
diffrax_version=0.7.2
equinox_version=0.13.8

# index_jax: makes the virtual environment, and sets TEST_PYTHON, its interpreter. Wheels stay in a folder outside of
# the sources, for the next clone: 180 MB.
index_jax() {
	local versions=jax-$jax_version-diffrax-$diffrax_version-equinox-$equinox_version
	local environment=$PWD/$directory/python wheels=${XDG_CACHE_HOME:-$HOME/.cache}/reel/$versions
	export TEST_PYTHON=$environment/bin/python3
	[ ! -e "$environment/$versions" ] || return 0
	rm -rf "$environment"
	/usr/bin/python3 -m venv "$environment" && mkdir -p "$wheels" || return
	[ -e "$wheels/complete" ] || {
		"$TEST_PYTHON" -m pip download -d "$wheels" "jax==$jax_version" "jaxlib==$jax_version" \
			"diffrax==$diffrax_version" "equinox==$equinox_version" pytest &&
			touch "$wheels/complete" || return
	}
	"$TEST_PYTHON" -m pip install --no-index --find-links "$wheels" jax jaxlib diffrax equinox pytest &&
		"$TEST_PYTHON" -c 'import jax; assert jax.devices()[0].platform == "cpu"' && touch "$environment/$versions"
} >"$directory/jax.log" 2>&1
