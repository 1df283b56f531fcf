# SPDX-License-Identifier: MIT
# Scripts with long runs source this in the source directory. With --results as the first argument they also
# write their results to tests/results/NAME.txt, a key and a value on each line.
results_name=$(basename "$0" .sh)
results_lines=
results_wanted=
if [ "${1-}" = --results ]; then
	results_wanted=yes
	shift
fi

# result KEY VALUE: prints a result, and keeps it for write_results.
result() {
	echo "$*"
	results_lines="$results_lines$*
"
}

# write_results: writes the results. A script calls it after a complete run. Keys in the file without a new
# result keep their values.
write_results() {
	[ -n "$results_wanted" ] || return 0
	results_file=tests/results/$results_name.txt
	mkdir -p tests/results
	touch "$results_file"
	printf %s "$results_lines" | awk '!($1 in value) { key[++n] = $1 } { value[$1] = $0 }
		END { for (i = 1; i <= n; i++) print value[key[i]] }' "$results_file" - >"$results_file.new"
	mv "$results_file.new" "$results_file"
}
