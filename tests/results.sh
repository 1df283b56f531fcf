# SPDX-License-Identifier: MIT
# For scripts with long runs, to be sourced in the source directory: --results as the first argument
# has what they find out written to tests/results/NAME.txt, a key and a value on each line; else it
# is only shown.
results_name=$(basename "$0" .sh)
results_lines=
results_wanted=
if [ "${1-}" = --results ]; then
	results_wanted=yes
	shift
fi

# result KEY VALUE
result() {
	echo "$*"
	results_lines="$results_lines$*
"
}

# Only of runs that came to their end. A key that was there and did not come again keeps its value.
write_results() {
	[ -n "$results_wanted" ] || return 0
	results_file=tests/results/$results_name.txt
	mkdir -p tests/results
	touch "$results_file"
	printf %s "$results_lines" | awk '!($1 in value) { key[++n] = $1 } { value[$1] = $0 }
		END { for (i = 1; i <= n; i++) print value[key[i]] }' "$results_file" - >"$results_file.new"
	mv "$results_file.new" "$results_file"
}
