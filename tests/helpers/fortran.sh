# Functions for tests that run Fortran programs, which check a module. $flags and $libraries are for the compiler.

# builds NAME SOURCE...: compiles a program, without a warning.
builds() {
	name=$1
	shift
	$FC $flags -o "$name" "$@" $libraries >messages 2>&1
	is_empty messages "$name compiles without a warning"
	[ -x "$name" ]
}

# checks_of NAME: makes a check of each line of the file `seen` that begins with "ok" or "not ok".
checks_of() {
	while read -r line; do
		case $line in
		'ok '*) ok 0 "$1: ${line#ok }" ;;
		'not ok '*) ok 1 "$1: ${line#not ok }" ;;
		*) echo "#   $line" ;;
		esac
	done <seen
}

# runs NAME: runs a program, whose checks become checks of this test.
runs() {
	"./$1" >seen 2>stderr
	status=$?
	checks_of "$1"
	ok $status "$1: it ends well"
	is_empty stderr "$1: and says nothing on stderr"
}
