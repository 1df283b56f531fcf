#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the manual from the headers' comments, from the help texts of the command, and from pages
# that are written by hand.
#
#	pages.sh SOURCE TARGET VERSION DATE package=NAME HEADER... [package=NAME HEADER...]...
#
# TARGET is made anew: man1, man3, man7, and the list `names` (mdoc.awk).
set -e

awk=${AWK:-awk}
source=$1 target=$2 version=$3 date=$4
shift 4

rm -rf "$target"
mkdir -p "$target/man1" "$target/man3" "$target/man7"
target=$(cd "$target" && pwd)
cd "$source"

"$awk" -f doc/reference/headers.awk -f doc/reference/mdoc.awk -v directory="$target" \
	-v version="$version" -v date="$date" "$@"
"$awk" -f doc/reference/tool.awk -v version="$version" -v date="$date" tools/*.c \
	>"$target/man1/reel.1"
for page in doc/reference/*.7; do
	sed -e "s/@version@/$version/" -e "s/@date@/$date/" "$page" >"$target/man7/${page##*/}"
done
sort -o "$target/names" "$target/names"
