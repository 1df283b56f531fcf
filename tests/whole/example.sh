# SPDX-License-Identifier: MIT
# Tests of the programs of the examples source this after tap.sh.

# key NAME: prints the value of NAME in the summary of the last run.
key() {
	sed -n "s/^ *\"$1\": \(.*[^,]\),\{0,1\}\$/\1/p" out/summary.json
}

# LeakSanitizer reports the memory that fontconfig keeps until the end.
LSAN_OPTIONS=suppressions=$PWD/leaks:print_suppressions=0
export LSAN_OPTIONS
echo 'leak:libfontconfig' >leaks
