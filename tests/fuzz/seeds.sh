#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fuzzers want a file for each input. A corpus has the file `seeds`, whose lines are inputs in hexadecimal digits, and some
# inputs as files beside it. This script writes all of them as files to a folder, or prints such lines for a folder's files.
set -u
case $#${1-} in
3unpack)
	mkdir -p "$3" && find "$2" -type f ! -name seeds -exec cp -t "$3" {} + || exit
	[ -f "$2/seeds" ] || exit 0
	mapfile -t seeds < <(sed 's/../\\x&/g' "$2/seeds")
	for i in "${!seeds[@]}"; do
		printf "${seeds[i]}" >"$3/seed$((i + 1))" || exit
	done
	;;
2pack)
	for file in "$2"/*; do
		od -An -v -tx1 "$file" | tr -d ' \n'
		echo
	done | LC_ALL=C sort -u
	;;
*)
	printf 'Usage: seeds.sh unpack CORPUS FOLDER\n       seeds.sh pack FOLDER >CORPUS/seeds\n' >&2
	exit 2
	;;
esac
