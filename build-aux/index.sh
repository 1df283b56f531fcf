# SPDX-License-Identifier: MIT
# The torch and the jax stage, for stage.sh: packages of the package index, in a virtual environment.

torch_version=2.15.0
jax_version=0.10.2
diffrax_version=0.7.2
equinox_version=0.13.8

# index_python VERSIONS: makes the virtual environment of the stage, and sets TEST_PYTHON, its interpreter. Wheels stay in
# a folder outside of the sources, for the next clone. Two functions are named after the stage: download_STAGE FOLDER
# fetches the wheels, and complete_STAGE prepares the installed packages for use and tests them.
index_python() {
	local environment=$PWD/$directory/python wheels=${XDG_CACHE_HOME:-$HOME/.cache}/reel/$1
	export TEST_PYTHON=$environment/bin/python3
	[ ! -e "$environment/$1" ] || return 0
	rm -rf "$environment"
	/usr/bin/python3 -m venv "$environment" && mkdir -p "$wheels" || return
	[ -e "$wheels/complete" ] || { "download_$name" "$wheels" && touch "$wheels/complete" || return; }
	"$TEST_PYTHON" -m pip install --no-deps --no-index "$wheels"/*.whl && "complete_$name" && touch "$environment/$1"
} >"$directory/$name.log" 2>&1

# The index has one build of PyTorch for x86-64, which links 14 libraries of CUDA: 2 GB of downloads, of which nothing
# runs without a GPU. Libraries that have the same names, symbols and versions take their place. Each function returns
# 100, by which the CUDA runtime says that there is no device.

# cuda_stubs FOLDER: makes the libraries of CUDA that those in the folder need, beside them. FOLDER/*.so give the names
# and symbols. An unversioned symbol is found in any library, and NCCL's are most of them.
cuda_stubs() {
	local library version map stub=$directory/stub
	for library in "$1"/*.so; do objdump -T "$library"; done | awk '/\*UND\*/ && $NF ~ /^_*(cu|nv|nccl)/ {
		gsub(/[()]/, "", $(NF - 1)); print $NF, $(NF - 1) }' | sort -u >"$stub.symbols"
	for library in $(for library in "$1"/*.so; do objdump -p "$library"; done |
		awk '$1 == "NEEDED" && $2 ~ /^lib(cu|nv|nccl)/ && $2 !~ /^libcuda[.]/ { print $2 }' | sort -u); do
		case $library in
		libnccl.*) version=Base ;;
		libnvshmem*) version=NVSHMEM ;;
		*) version=$library ;;
		esac
		map=
		[ $version = Base ] || map=-Wl,--version-script=$stub.map
		echo "$version { global: *; };" >"$stub.map"
		awk -v version="$version" '$2 == version { print "int " $1 "(void) { return 100; }" }' "$stub.symbols" >"$stub.c"
		cc -shared -fPIC -w -fno-builtin -Wl,-soname,"$library" $map -o "$1/$library" "$stub.c" || return
	done
}

# 540 MB of PyTorch, 60 MB of other packages.
download_torch() {
	"$TEST_PYTHON" -m pip download --no-deps -d "$1" "torch==$torch_version" accelerate &&
		"$TEST_PYTHON" -m pip download -d "$1" filelock 'typing-extensions>=4.13' 'sympy>=1.13.3' networkx \
			jinja2 fsspec 'setuptools>=77' numpy pytest expecttest transformers psutil
}

complete_torch() {
	cuda_stubs "$(echo "${TEST_PYTHON%/bin/*}"/lib/python3*/site-packages/torch/lib)" &&
		"$TEST_PYTHON" -c 'import torch; assert not torch.cuda.is_available()'
}

# 140 MB.
download_jax() {
	"$TEST_PYTHON" -m pip download -d "$1" "jax==$jax_version" "jaxlib==$jax_version" "diffrax==$diffrax_version" \
		"equinox==$equinox_version" pytest
}

complete_jax() {
	"$TEST_PYTHON" -c 'import jax; assert jax.devices()[0].platform == "cpu"'
}
