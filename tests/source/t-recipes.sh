#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the commands of README.md and of the pages of each folder, unchanged: with Reel installed, in a folder with the
# page's programs. They have to print the output that the page shows. A command that is not run here has its reason here;
# if it has options, its programs are asked if they know them.
. "$SOURCE_DIR/tests/tap/tap.sh"

case $CFLAGS in *-fsanitize*) skip_all 'the printed commands name no sanitizer' ;; esac
command -v pkg-config >/dev/null || skip_all 'pkg-config is not installed'

# ---- An installation ----

# This make must not use the jobs and variables of the make that runs this test.
root=$PWD/root
# When libtool installs a library that depends on another one, it links it again in the build, and replaces it there.
# Other tests that run at the same time would not find it for a moment. This copy of libtool does not link again.
sed '/^func_mode_install ()/,/^}/s/test -n "$relink_command"/false/' "$BUILD_DIR/libtool" >libtool
chmod +x libtool
env -u MAKEFLAGS -u MFLAGS make -s -C "$BUILD_DIR" DESTDIR="$root" LIBTOOL="$PWD/libtool" install-exec-am install-data-am \
	>messages 2>&1
ok $? 'Reel is installed in an empty folder'
pkgconfig=$(find "$root" -name pkgconfig)
[ -d "$pkgconfig" ] || sed 's/^/#   /' messages
libraries=$(dirname "$(find "$root" -name 'libreel-omp.la')")
commands=$(dirname "$(find "$root" -path '*/bin/reel')")

# tool NAME COMMAND: makes a program NAME, for the pages, which runs COMMAND. Does nothing without COMMAND, if the tool is
# not installed. The compiler may have the same name, so the program searches it in the original PATH.
mkdir tools
own_path=$PATH
tool() {
	[ -n "$2" ] || return
	printf '#!/bin/sh\nPATH=%s\nexec %s\n' "'$own_path'" "$2" >"tools/$1"
	chmod +x "tools/$1"
}
mpi=
[ ! -f "$libraries/libreel-mpi.la" ] || mpi=yes
tool cc "$CC $CFLAGS \"\$@\""
tool c++ "${CXX:+$CXX \"\$@\"}"
tool g++ "${CXX:+$CXX \"\$@\"}"
tool gfortran "${FC:+$FC \"\$@\"}"
tool mpicc "${mpi:+$CC $CFLAGS $MPI_CFLAGS \"\$@\" $MPI_LIBS}"
for program in examples/sedov/sedov examples/tsunami/tsunami bench/reel-bench; do
	[ ! -x "$BUILD_DIR/$program" ] || tool "${program##*/}" "'$BUILD_DIR/$program' \"\$@\""
done
tool mpirun "${mpi:+$MPIRUN \"\$@\"}"
[ ! -f "$libraries/libreel-fortran-mpi.la" ] || tool mpifort "$FC $MPI_FCFLAGS \"\$@\" $MPI_FCLIBS"
for python in /usr/bin/python3 python3; do
	"$python" -c 'import numpy' 2>/dev/null && tool python3 "$python \"\$@\"" && break
done
PATH=$PWD/tools:$commands:$PATH
PKG_CONFIG_PATH=$pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
PKG_CONFIG_SYSROOT_DIR=$root
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONPATH=$SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=yes
REEL_LIBRARY=$libraries/libreel.so
export PYTHONPATH PYTHONDONTWRITEBYTECODE REEL_LIBRARY
export PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH

# ---- The commands of a page ----

# commands_of PAGE: prints a line "command TEXT" for each command, and after it lines "prints TEXT" with the output that the
# page shows. Commands are indented. Two or more spaces end a command, and a note follows; a backslash continues it.
commands_of() {
	awk '
	BEGIN {
		tool = "sudo|autoreconf|make|cmake|cc|c[+][+]|gcc|g[+][+]|clang|clang[+][+]|gfortran|mpi[a-z]+|nvcc|reel|reel-[a-z]+"
		tool = tool "|pkg-config|apt|apt-get|dpkg|spack|git|man|env|export|cd|python3?|sbatch|srun|perf|gdb|valgrind|[.]?[.]?/[^ ]+"
		is_command = "^([A-Z_]+=[^ ]+ )*(" tool ")( |$)"
	}
	/^```/ { in_program = !in_program; printing = 0 }
	in_program { next }
	!sub(/^(\t+|    +)/, "") { printing = 0; next }
	continued { command = command " " $0 }
	!continued && $0 ~ is_command { command = $0 }
	command != "" {
		continued = sub(/ *\\$/, "", command)
		if (!continued) {
			sub(/  .*/, "", command)
			print "command " command
			command = ""
			printing = 1
		}
		next
	}
	printing { print "prints " $0 }' "$1"
}

# programs_of PAGE: writes its programs to program-1, program-2, ...
programs_of() {
	awk '/^```(c|c[+][+]|fortran)$/ { file = "program-" ++count; next }
		/^```$/ { file = "" }
		file { print > file }' "$1"
}

# ---- Conditions of each command ----

# of_another REASON: the command is not run.
of_another() { reason=$1; }

# asks_for_options REASON: the command is not run, but its programs read its options. With --help at the end they only
# complain of unknown options, and of options without a value.
asks_for_options() { asked=$1; }

with_help() { printf '%s\n' "$1" | sed -E 's/sudo //g; s/mpirun -n [0-9]+ //; s/ && / --help \&\& /g; s/$/ --help/'; }

# prints_otherwise REASON: the output of the command differs from the page.
prints_otherwise() { otherwise=$1; }

# ends_with_an_error: the command has to end with status 1, because its program finds a mistake.
ends_with_an_error() { expected=1; }

# needs TOOL: the command is run if the tool is here.
needs() { [ -x "../tools/$1" ] || reason="there is no $1"; }

openmp() {
	echo 'int main(void) { return 0; }' >openmp.c
	cc -fopenmp openmp.c -o openmp 2>/dev/null && ./openmp || reason='there is no OpenMP'
}

is_on_a_disk() { can_spill || reason='files here are kept in memory'; }

# prepare PAGE COMMAND: makes the files that the page presupposes, and sets `reason`, `asked`, `otherwise` and `expected`.
prepare() {
	reason= asked= otherwise= expected=0
	case $2 in
	*-fopenmp*) openmp ;;
	*/scratch*) is_on_a_disk ;;
	esac
	case $2 in
	c++* | g++* | gfortran* | mpicc* | mpifort*) needs "${2%% *}" ;;
	*mpirun*) needs mpirun ;;
	esac
	case $2 in
	*reel-fortran*) [ -f "$libraries/libreel-fortran.la" ] || reason='the Fortran modules are not built' ;;
	esac
	case "$1: $2" in
	'README.md: cc -I.'* | 'doc/installing.md: cc -I.'* | 'doc/installing.md: autoreconf'*'make amalgamation')
		of_another 't-amalgamation.sh runs it'
		;;
	'doc/installing.md: cc gradient.c'*) of_another 'the wheel stage of ./check runs it' ;;
	'doc/installing.md: autoreconf'* | 'doc/installing.md: ./configure'*) of_another 'a stage of ./check builds in the source folder' ;;
	'doc/installing.md: sudo'*)
		asks_for_options 'the package stage of ./check builds and installs the packages'
		case $2 in *dpkg-buildpackage*) command -v dpkg-buildpackage >/dev/null || of_another 'there is no dpkg-dev' ;; esac
		command -v apt-get >/dev/null || of_another 'there is no apt-get'
		;;
	'README.md: ./check'*)
		ln -sf "$SOURCE_DIR/check" "$SOURCE_DIR/build-aux" "$SOURCE_DIR/tests" .
		asks_for_options 'a stage of ./check runs this test'
		;;
	*': ./demo'*) of_another 'it installs packages and builds in a folder of its own' ;;
	'doc/by-hand.md: cc'*) cp program-2 program.c ;;
	'doc/by-hand.md: c++'*) cp program-3 program.cpp ;;
	'doc/checkpointing.md: cc'*) cp program-1 program.c ;;
	'doc/checkpointing.md: reel plan --costs steps.txt'*) printf '1 1.2 2 4M 20M\n2 2.5 4 4M 60M 1M\n' >steps.txt ;;
	'doc/mpi.md: mpicc'*) cp program-1 program.c ;;
	'doc/mpi.md: REEL_'*) prints_otherwise 'the page shows what a mistake prints' ;;
	'doc/mpi.md: mpifort'*) cp program-2 program.f90 ;;
	'doc/openmp.md: cc -fopenmp gradient.c'*) cp program-1 gradient.c ;;
	'doc/openmp.md: cc -fopenmp program.c'*) cp program-4 program.c ;;
	'doc/openmp.md: cc'*) cp program-2 program.c ;;
	'doc/openmp.md: c++'*) cp program-3 program.cpp ;;
	'doc/spilling.md: REEL_'*) cc -x c program-1 -o adjoint $(pkg-config --cflags --libs reel) ;;
	'doc/tutorial.md: REEL_CHECKED'*)
		sed 's/pop_array(tape, old, N + 1)/pop_array(tape, old, N)/' step-2.c >mistake.c
		cc mistake.c $(pkg-config --cflags --libs reel) -lm
		prints_otherwise 'the name of the file, and the sign of a NaN'
		ends_with_an_error
		;;
	'doc/tutorial.md: REEL_BUDGET'*) cc step-2.c $(pkg-config --cflags --libs reel) -lm ;;
	'doc/tutorial.md: REEL_END_AFTER'*)
		of_another 't-guide.sh runs it with a time that ends each machine'
		;;
	'examples/sedov/README.md: '* | 'examples/tsunami/README.md: '*)
		asks_for_options 'tests of the example run it, on fewer ranks'
		needs "$(expr "$2" : 'mpirun -n [0-9]* \([a-z]*\)')"
		;;
	'gpu/README.md: reel-bench'*)
		asks_for_options 'it needs a GPU'
		needs reel-bench
		;;
	'gpu/tape/README.md: nvcc'*) of_another 'there is no nvcc among the tools of the tests' ;;
	'python/README.md: python3 -m venv'* | 'doc/installing.md: python3 -m venv'*) of_another 'pip asks the network for what builds a package' ;;
	'python/README.md: cc'*) of_another './check wheel runs it' ;;
	'python/README.md: python3'*)
		needs python3
		case $2 in *--draw*) python3 -c 'import matplotlib' || of_another 'there is no Matplotlib' ;; esac
		;;
	'python/README.md: mpiexec'*) of_another 'the tests of the package run it' ;;
	'doc/tuning.md: REEL_BUDGET'*) of_another 't-tune.sh runs it' ;;
	'doc/tuning.md: REEL_PROFILE'* | 'doc/tuning.md: reel profile'*) of_another 't-profile.sh runs it' ;;
	'doc/tuning.md: export REEL_STATS'* | 'doc/tuning.md: reel top'*) of_another 't-top.sh runs it' ;;
	'doc/tuning.md: bpftrace'* | 'doc/tuning.md: perf'*) of_another 'it needs a kernel that lets one look on' ;;
	'doc/tuning.md: REEL_TRACE'* | 'doc/tuning.md: reel report'*) of_another 't-report.sh runs it' ;;
	'doc/tutorial.md: REEL_PROGRESS'*)
		of_another 't-run-progress tests what it prints, which is of a longer run'
		;;
	'doc/tutorial.md: ./a.out')
		cc -O2 -ffp-contract=off step-4.c $(pkg-config --cflags --libs reel) -lm
		skipped=
		;;
	'doc/tutorial.md: '*) cp "$SOURCE_DIR"/examples/tutorial/step-?.c . ;;
	'dropin/adstack/README.md: cc'*' -c model_b.c') cp program-1 model_b.c ;;
	'dropin/adstack/README.md: cc'*)
		cp program-1 program.c
		cp "$SOURCE_DIR/tests/adstack-programs/adStack.h" .
		cp "$SOURCE_DIR/tests/adstack-programs/reference.c" adStack.c
		;;
	'dropin/adstack/README.md: gfortran'*' adStack.o adBuffer.o') of_another 'adBuffer.o is of Tapenade' ;;
	'dropin/adstack/README.md: gfortran'*)
		rm -f ./*.o
		cp "$SOURCE_DIR/tests/adstack-programs/tangent.f90" .
		[ -n "$reason" ] || gfortran -c tangent.f90
		case $2 in *-lto*) [ -f "$libraries/libreel-adstack-lto.a" ] || of_another 'there is no libreel-adstack-lto.a' ;; esac
		;;
	'dropin/adstack/README.md: REEL_'*) cc -I. program.c -o adjoint $(pkg-config --cflags --libs reel-adstack) -lm ;;
	'dropin/clad/README.md: clang++'*) of_another 'Clad is not among the tools of the tests' ;;
	'dropin/clad/README.md: g++'*) cp program-1 printed.cpp ;;
	'dropin/fortran/README.md: gfortran -O2 adjoint.f90'*) cp program-1 adjoint.f90 ;;
	'dropin/fortran/README.md: gfortran'*) cp program-2 chunks.f90 ;;
	'dropin/codipack/README.md: '*) of_another 'CoDiPack is not among the tools of the tests' ;;
	'dropin/petsc/README.md: '*) of_another 'PETSc, and a program with it, are not among the tools of the tests' ;;
	'dropin/malloc/README.md: cc'*) cp program-1 gradient.c ;;
	'dropin/malloc/README.md: ./gradient' | 'dropin/malloc/README.md: LD_PRELOAD'*)
		[ -f "$libraries/libreel-malloc.so" ] || of_another 'there is no libreel-malloc'
		prints_otherwise 'the number of faults'
		;;
	esac
}

# ---- Each command ----

# here COMMAND: prints the command with the folders of this test in place of the folders of the page.
here() {
	printf '%s\n' "$1" | sed "s|/scratch|$PWD/scratch|g; s|/usr/local/lib|$libraries|g"
}

# run PAGE COMMAND: a check that the command succeeds and prints the text of `wanted`.
run() {
	prepare "$1" "$2" >preparing 2>&1
	if [ -n "$reason" ]; then
		skipped=$reason
		skip "$1: $2: $reason"
		return
	fi
	# If the command that makes a program was not run, commands that run the program are skipped.
	case $2 in
	./a.out | *mpirun*) [ -z "$skipped" ] || [ -n "$asked" ] || { skip "$1: $2: $skipped"; return; } ;;
	*) skipped= ;;
	esac
	command=$2
	[ -z "$asked" ] || command=$(with_help "$2")
	(eval "$(here "$command")") >seen 2>stderr
	[ $? -eq $expected ]
	ok $? "$1: $command"
	sed 's/^/#   /' preparing stderr
	if [ -n "$asked" ]; then
		echo "# not run: $asked"
		return
	fi
	[ -s wanted ] || return
	if [ -n "$otherwise" ]; then
		echo "# not compared: $otherwise"
		return
	fi
	diff wanted seen >difference
	is_empty difference "$1: $2 prints what the page shows"
}

# recipes_of PAGE: runs the commands of the page in a folder.
recipes_of() {
	mkdir recipes && cd recipes || exit
	mkdir scratch
	programs_of "$SOURCE_DIR/$1"
	commands_of "$SOURCE_DIR/$1" >lines
	skipped=
	number=0
	while number=$((number + 1)) && line=$(sed -n "${number}p" lines) && [ -n "$line" ]; do
		case $line in 'prints '*) continue ;; esac
		sed -n "$((number + 1)),\$p" lines | sed '/^command /,$d; s/^prints //' >wanted
		run "$1" "${line#command }"
	done
	cd .. && rm -rf recipes
}

for path in "$SOURCE_DIR"/README.md "$SOURCE_DIR"/doc/*.md "$SOURCE_DIR"/dropin/*/README.md "$SOURCE_DIR"/python/README.md \
	"$SOURCE_DIR"/gpu/README.md "$SOURCE_DIR"/gpu/tape/README.md "$SOURCE_DIR"/mpi/README.md "$SOURCE_DIR"/examples/*/README.md; do
	recipes_of "${path#"$SOURCE_DIR"/}"
done
[ $checks -gt 40 ]
ok $? "$checks checks of commands"
end
