#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: examples/gpu/resources.sh [ARCHITECTURE...]. Compiles the kernels of the examples and of the tsunami, and prints
# a table of their registers and stack for each architecture. Fails if a kernel spills a register or does not compile.
#
#	examples/gpu/resources.sh >examples/gpu/RESOURCES.md
source=$(cd "$(dirname "$0")/../.." && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ $# -gt 0 ] || set -- 75 80 86 89 90 100 120

directory=$(mktemp -d) || exit
trap 'rm -rf "$directory"' EXIT

# compile ARCHITECTURE OPTION... FILE: compiles the kernels of a file.
compile() {
	architecture=$1
	shift
	"$nvcc" -std=c++14 ${NVCCFLAGS:--O3} "-gencode=arch=compute_$architecture,code=sm_$architecture" \
		-Xptxas -v -I"$source/include" -c -o "$directory/object" "$@" >"$directory/said" 2>&1 || {
		cat "$directory/said" >&2
		exit 1
	}
	sed "s/^/$architecture /" "$directory/said" >>"$directory/all"
}

for architecture; do
	compile "$architecture" "$source/examples/gpu/examples.cu"
	compile "$architecture" -fmad=false -I"$source/examples/tsunami" -I"$source/examples" \
		"$source/examples/tsunami/gradient/gpu.cu"
done

cat <<END
# Registers and stack of the kernels

Registers of each kernel in \`examples/gpu/\`, and of \`examples/tsunami\`, on each architecture; with
+ N, N bytes of stack, which are the mathematical functions' or calls'. No register is spilled. Compiled
by nvcc $("$nvcc" --version | sed -n 's/.*release \([^,]*\).*/\1/p') with -O3; made by \`examples/gpu/resources.sh\`.

END
{ c++filt <"$directory/all" 2>/dev/null || cat "$directory/all"; } | awk -v architectures="$*" '
	/Compiling entry function/ {
		kernel = $0
		sub(/^[^\047]*\047/, "", kernel)
		sub(/\(.*/, "", kernel)
		inside = 1
		if (!(kernel in known)) {
			known[kernel] = 1
			order[++kernels] = kernel
		}
	}
	/Function properties for/ {
		inner = $0
		sub(/.*Function properties for /, "", inner)
		sub(/\(.*/, "", inner)
		inside = inner == kernel
	}
	/bytes stack frame/ {
		if (inside)
			stack[kernel, $1] = $2
		if ($6 > 0 || $10 > 0) {
			print "spilled: sm_" $1 ", " inner ": " $6 " bytes stored, " $10 " loaded" >"/dev/stderr"
			spilled = 1
		}
	}
	/Used [0-9]+ registers/ {
		registers[kernel, $1] = $6
	}
	END {
		n = split(architectures, list, " ")
		line = "| kernel |"
		rule = "| --- |"
		for (i = 1; i <= n; i++) {
			line = line " sm_" list[i] " |"
			rule = rule " ---: |"
		}
		print line
		print rule
		for (k = 1; k <= kernels; k++) {
			line = "| " order[k] " |"
			for (i = 1; i <= n; i++) {
				line = line " " registers[order[k], list[i]]
				if (stack[order[k], list[i]] > 0)
					line = line " + " stack[order[k], list[i]]
				line = line " |"
			}
			print line
		}
		exit spilled || kernels == 0
	}'
