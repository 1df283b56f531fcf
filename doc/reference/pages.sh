#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the manual from the headers' comments, from the help texts of the command, and from pages
# that are written by hand.
#
#	pages.sh SOURCE TARGET VERSION DATE package=NAME HEADER... [package=NAME [HEADER...]]...
#
# Replaces TARGET: man1, man3, man7, and the list `names` (mdoc.awk). A package without headers is not
# installed, so pages do not refer to its pages. In pages that are written by hand, the lines from
# `.\" With PACKAGE` to `.\" End` are left out if PACKAGE has no headers.
set -e
trap 'status=$?; [ $status -eq 0 ] || echo "pages.sh: stopped with status $status" >&2' EXIT

awk=${AWK:-awk}
source=$1 target=$2 version=$3 date=$4
shift 4

rm -rf "$target"
mkdir -p "$target/man1" "$target/man3" "$target/man7"
target=$(cd "$target" && pwd)
cd "$source"

"$awk" -f build-aux/api/figures.awk -f doc/reference/headers.awk -f doc/reference/mdoc.awk \
	-v directory="$target" -v version="$version" -v date="$date" "$@"
"$awk" -f doc/reference/tool.awk -v directory="$target" -v version="$version" -v date="$date" tools/*.c
packages=' '
for argument; do
	case $argument in
	package=*) package=${argument#*=} ;;
	*) packages="$packages$package " ;;
	esac
done
for page in doc/reference/*.7; do
	"$awk" -v packages="$packages" '
		/^\.\\" With / { is_left_out = !index(packages, " " $3 " "); next }
		/^\.\\" End$/ { is_left_out = 0; next }
		!is_left_out' "$page" | sed -e "s/@version@/$version/" -e "s/@date@/$date/" >"$target/man7/${page##*/}"
done
sort -o "$target/names" "$target/names"
