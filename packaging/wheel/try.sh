#!/bin/sh
# SPDX-License-Identifier: MIT
# For the wheel stage of ./check, in a clean system with NumPy and without a compiler: installs the wheel beside this
# script, uses it, and removes it. A line of the output is "passed WHAT" or "failed WHAT".
folder=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$HOME/try" && cd "$HOME/try" || exit
system=$(. /etc/os-release && echo "$VERSION_CODENAME")

# holds WHAT COMMAND...: a check, which passes if the command succeeds. Shows its output.
holds() {
	what=$1
	shift
	if "$@" >said 2>&1; then
		echo "passed $system: $what"
	else
		echo "failed $system: $what"
	fi
	sed 's/^/   /' said
}

no_compiler() { ! command -v cc gcc clang; }

# Two commands lead from an empty folder to a gradient.
two_commands() {
	start=$(date +%s)
	"$python" -m pip install --no-index "$folder"/*.whl && "$python" "$folder/try.py" 64 || return
	echo "$(($(date +%s) - start)) s for both"
}

examples() { (cd "$folder" && "$python" -m doctest README.md python/README.md); }

library_is_inside() {
	"$python" -m reel info | tee info
	grep -q "^library: .*$PWD/env/.*/reel/lib/libreel.so.0" info
}

# It is loaded, and looks for a driver, which this system lacks.
library_for_gpus() {
	[ -f "$(dirname "$("$python" -m reel --pkgconfigdir)")/libreel-cuda.so.0" ] || return
	"$python" -c 'import reel; print(reel.Pool("64M")._pin(0))' | tee reason
	grep -q '^no GPU: no NVIDIA driver' reason
}

flags() {
	set -- $("$python" -m reel --cflags --libs)
	[ -f "${1#-I}/reel.h" ] && [ -f "${2#-L}/libreel.so.0" ] && [ -f "$("$python" -m reel --pkgconfigdir)/reel.pc" ] &&
		[ -f "$("$python" -m reel --cmakedir)/ReelConfig.cmake" ]
}

# The trace has an event for each array that leaves memory.
environment() {
	REEL_TRACE=$PWD/trace.json "$python" "$folder/try.py" 16 &&
		"$python" -c 'import json; assert len(json.load(open("trace.json"))) > 20'
}

files() { find env | LC_ALL=C sort; }

uninstalled() {
	"$python" -m pip uninstall --yes libreel && files | diff before -
}

# The package of the sources contains no library, and the system has none.
missing() {
	! PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$folder/python "$python" -c 'import reel' 2>error
	tail -n 1 error
	grep -q '^ImportError: no libreel .*libreel.so.0: cannot open.*pip install .*libreel0.*REEL_LIBRARY' error
}

holds 'there is no compiler' no_compiler
python3 -m venv --system-site-packages env || exit
python=$PWD/env/bin/python3
files >before
holds 'the wheel is installed, and 1 GiB of arrays goes through 128 MiB' two_commands
holds 'its library is the one inside' library_is_inside
holds 'so is libreel-cuda, which needs no driver' library_for_gpus
holds 'the examples of the pages' examples
holds 'it says where headers and library are' flags
holds 'it heeds the variables of the library' environment
holds 'nothing is left when it is removed' uninstalled
holds 'the package without a library says what to do' missing
