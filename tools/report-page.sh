#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes C of the page of `reel report`: what is before and after its data, with what draws it.
# Usage: report-page.sh SOURCE-DIRECTORY UPLOT-DIRECTORY|no
set -eu
source=$1
uplot=$2

# bytes NAME: writes standard input as a string of C.
bytes() {
	echo "static const char $1[] = {"
	od -An -v -tu1 | sed -e 's/[0-9][0-9]*/&,/g'
	echo '0};'
}

# Each line @FILE@ becomes that file; what is before @data@ is the beginning, and what is behind it the end.
page() {
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		@uPlot.*@) cat "$uplot/$(echo "$line" | tr -d @)" ;;
		@LICENSE@) cat "$uplot/../LICENSE" ;;
		@page.*@) cat "$source/report/$(echo "$line" | tr -d @)" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done <"$source/report/page.html"
}

echo '/* Made by report-page.sh. */'
echo '#include "tools/report.h"'
for file in uPlot.iife.min.js uPlot.min.css ../LICENSE; do
	[ "$uplot" = no ] || [ -f "$uplot/$file" ] || {
		echo "report-page.sh: there is no $uplot/$file" >&2
		exit 1
	}
done
if [ "$uplot" = no ]; then
	echo 'const char *const report_page_begin, *const report_page_end;'
	exit
fi
page | sed '/@data@/{
s/@data@.*//
q
}' | bytes begin
page | sed -n '/@data@/,$p' | sed '1s/.*@data@//' | bytes end
echo 'const char *const report_page_begin = begin, *const report_page_end = end;'
