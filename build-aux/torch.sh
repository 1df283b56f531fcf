# SPDX-License-Identifier: MIT
# The torch stage, for stage.sh: a PyTorch of the package index, in a virtual environment.
#
# The index has one build of PyTorch for x86-64, which links 14 libraries of CUDA: 2 GB of downloads, of which nothing
# runs without a GPU. Libraries that have the same names, symbols and versions take their place. Each function returns
# 100, by which the CUDA runtime says that there is no device.

torch_version=2.15.0

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

# index_torch: makes the virtual environment, and sets TEST_PYTHON, its interpreter. Wheels stay in a folder outside of
# the sources, for the next clone: 540 MB of PyTorch, 60 MB of other packages.
index_torch() {
	local environment=$PWD/$directory/python wheels=${XDG_CACHE_HOME:-$HOME/.cache}/reel/torch-$torch_version
	export TEST_PYTHON=$environment/bin/python3
	[ ! -e "$environment/torch-$torch_version" ] || return 0
	rm -rf "$environment"
	/usr/bin/python3 -m venv "$environment" && mkdir -p "$wheels" || return
	[ -e "$wheels/complete" ] || {
		"$TEST_PYTHON" -m pip download --no-deps -d "$wheels" "torch==$torch_version" accelerate &&
			"$TEST_PYTHON" -m pip download -d "$wheels" filelock 'typing-extensions>=4.13' 'sympy>=1.13.3' networkx \
				jinja2 fsspec 'setuptools>=77' numpy pytest expecttest transformers psutil && touch "$wheels/complete" || return
	}
	"$TEST_PYTHON" -m pip install --no-deps --no-index "$wheels"/*.whl &&
		cuda_stubs "$(echo "$environment"/lib/python3*/site-packages/torch/lib)" &&
		"$TEST_PYTHON" -c 'import torch; assert not torch.cuda.is_available()' && touch "$environment/torch-$torch_version"
} >"$directory/torch.log" 2>&1
