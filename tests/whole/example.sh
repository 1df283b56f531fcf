# SPDX-License-Identifier: MIT
# For tests of the programs of the examples, sourced after tap.sh.

# key NAME: its value in the summary of the last run.
key() {
	sed -n "s/^ *\"$1\": \(.*[^,]\),\{0,1\}\$/\1/p" out/summary.json
}

# LeakSanitizer reports the memory that fontconfig keeps until the end.
LSAN_OPTIONS=suppressions=$PWD/leaks:print_suppressions=0
export LSAN_OPTIONS
echo 'leak:libfontconfig' >leaks
