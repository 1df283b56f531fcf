# SPDX-License-Identifier: MIT
# ./check, ./demo and tests/long/cross.sh source this in the source directory. Its functions lead from a fresh clone on a
# bare Debian to a configured build, in steps that do only work that is left, and count the results of tests.

export DEBIAN_FRONTEND=noninteractive
jobs=$(nproc 2>/dev/null || echo 2)
# The option that sets the number of jobs. A make that another make calls gets no option, and shares the jobs of its caller.
parallel=()
[[ ${MAKEFLAGS-} == *--jobserver* ]] || parallel=(-j "$jobs")

# libtool is a script. dash runs it in half the time of bash.
! CONFIG_SHELL=$(command -v dash) || export CONFIG_SHELL

die() {
	printf '%s: %s\n' "${0##*/}" "$1" >&2
	exit "${2:-1}"
}

# has WHAT: succeeds if WHAT is installed, by a package or in another way: a command, a path, a file of pkg-config, or an
# option of clang.
has() {
	case $1 in
	*.pc) pkg-config --exists "${1%.pc}" ;;
	-f*) echo 'int main(void) { return 0; }' | clang "$1" -x c - -o /dev/null ;;
	/*) [ -e "$1" ] ;;
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

# install PACKAGE=WHAT...: installs the packages whose WHAT is missing, by one command. Returns 1 if it failed.
install() {
	local missing=() pair as_root=()
	for pair; do
		has "${pair#*=}" || missing+=("${pair%%=*}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	local command="apt-get install --yes --no-install-recommends ${missing[*]}"
	has apt-get || die "please install (names as in Debian): ${missing[*]}" 2
	if [ "$(id -u)" -ne 0 ]; then
		sudo -n true 2>/dev/null || die "please run as root: apt-get update && $command" 2
		as_root=(sudo -n --preserve-env=DEBIAN_FRONTEND)
	fi
	echo "installing ${missing[*]}: some minutes, by the network"
	mkdir -p build
	"${as_root[@]}" apt-get update >build/install.log 2>&1
	"${as_root[@]}" $command >>build/install.log 2>&1 || {
		tail -n 20 build/install.log
		return 1
	}
}

library_packages=(
	gcc=gcc g++=g++ libc6-dev=/usr/include/stdio.h make=make
	autoconf=autoconf automake=automake libtool=libtoolize
	pkg-config=pkg-config libck-dev=ck.pc libdw-dev=libdw.pc
	liblz4-dev=liblz4.pc
)
build_packages=("${library_packages[@]}" libsqlite3-dev=sqlite3.pc spin=spin gfortran=gfortran)

# Packages for the tsunami. Without the data of the sea floor it runs in an idealised basin.
example_packages=(libnetcdf-dev=netcdf.pc libcairo2-dev=cairo.pc)
example_data=ferret-datasets=/usr/share/ferret-vis/data/etopo5.cdf

# bootstrap: makes configure, unless it is up to date. Make would also do that, but the makes of two builds would do it at
# the same time.
bootstrap() {
	[ -f configure ] && [ -f Makefile.in ] && [ -z "$(find . -path ./build -prune -o \( -name configure.ac \
		-o -name Makefile.am -o -name '*.mk' -o -name 'reel_*.m4' \) -newer Makefile.in -print)" ] && return
	echo 'making configure: about 10 s'
	mkdir -p build
	autoreconf -i >build/autoreconf.log 2>&1 || {
		tail -n 20 build/autoreconf.log
		return 1
	}
}

# python_packages: installs packages that Debian lacks, for the tests of the Python package, in TEST_PYTHONPATH.
python_packages() {
	export TEST_PYTHONPATH=$PWD/build/python
	[ "${stages[*]}" != main ] && [ ! -d "$TEST_PYTHONPATH/pyadjoint" ] || return 0
	mkdir -p build
	/usr/bin/python3 -m pip install --quiet --no-deps --target "$TEST_PYTHONPATH" pyadjoint-ad==2026.10.0 \
		checkpoint_schedules==1.0.4 >build/pip.log 2>&1 || echo 'pip cannot install pyadjoint, see build/pip.log; its tests are skipped'
}

# The path of the sources from a build folder.
sources=../..

# configure DIRECTORY OPTION...: configures a build, unless the options and the versions of libraries are unchanged.
configure() {
	local directory=$1 options
	shift
	options="$* with $(for package in ck liblz4 libdw netcdf cairo sqlite3 ompi-c mpich; do
		echo "$package $(pkg-config --modversion "$package" 2>/dev/null)"
	done)"
	mkdir -p "$directory"
	if [ -f "$directory/config.status" ] && [ "$options" = "$(cat "$directory/options" 2>/dev/null)" ]; then
		return
	fi
	echo "configuring $directory: about 30 s"
	(cd "$directory" && "$sources/configure" "$@") >"$directory/configure.log" 2>&1 || {
		tail -n 8 "$directory/configure.log"
		return 1
	}
	echo "$options" >"$directory/options"
}

# build DIRECTORY TARGET...: runs make, and shows errors if it fails.
build() {
	local directory=$1
	shift
	make -C "$directory" "${parallel[@]}" "$@" >"$directory/make.log" 2>&1 || {
		grep -E -m 20 '(error:|undefined reference|^(FAIL|ERROR):|No rule|\*\*\* \[)' "$directory/make.log" || tail -n 20 "$directory/make.log"
		return 1
	}
}

# build_program DIRECTORY PROGRAM: builds the program and shows the progress, on a terminal in one line, else every 15 s.
build_program() {
	local directory=$1 program=$2 total made left end='\n' every=15
	[ ! -t 1 ] || end='\r' every=1
	total=$(make -C "$directory" -n "$program" 2>/dev/null | grep -c '"  CC')
	SECONDS=0
	build "$directory" "$program" &
	while sleep 1 && kill -0 $! 2>/dev/null; do
		made=$(grep -c '^  CC' "$directory/make.log")
		[ "$made" -gt 0 ] && [ $((SECONDS % every)) -eq 0 ] || continue
		left=$((SECONDS * (total - made) / made))
		printf "building: %3d of %d files, about %d s left  $end" "$made" "$total" "$left"
	done
	[ ! -t 1 ] || echo
	wait $!
}

# count DIRECTORY: sets points to the numbers of passed, failed and skipped checks of its last `make check`. If a program
# with failed checks exits with an error, only the checks count.
count() {
	points=($(find "$1" -name '*.trs' -exec cat {} + | awk '
		function close_file() { failed += failures ? failures : errors > 0; failures = errors = 0 }
		/^:test-result: (PASS|XFAIL)/ { passed++ }
		/^:test-result: (FAIL|XPASS)/ { failures++ }
		/^:test-result: ERROR/ { errors++ }
		/^:test-result: SKIP/ { skipped++ }
		/^:copy-in-global-log:/ { close_file() }
		END { close_file(); print passed + 0, failed + 0, skipped + 0 }'))
}

# show_failures DIRECTORY: prints the output of each test program that failed, without the checks that passed: the lines
# around each check that failed, and the last lines.
show_failures() {
	local results
	find "$1" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|XPASS|ERROR)' {} + | while read -r results; do
		printf -- '---- %s\n' "${results%.trs}.log"
		grep -vE '^(ok|PASS:|FAIL:) ' "${results%.trs}.log" | awk '
			{ line[NR] = $0 }
			/^not ok / { for (i = NR - 8; i <= NR + 8; i++) shown[i] = 1 }
			END { for (i = 1; i <= NR; i++) if (i in shown || i > NR - 20) print line[i] }' | head -n 60
	done
}

# The build for daily use. gcc takes half as long with -O1.
main_build=build/main
main_options=(--enable-werror --enable-openmp --disable-static 'CFLAGS=-O1 -g')
# The build of ./demo. It has only static libraries, so that each file is compiled once, and no part that the demo does
# not use.
demo_build=build/demo
demo_options=(--enable-openmp --disable-shared --disable-fortran)
