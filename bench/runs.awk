# SPDX-License-Identifier: MIT
# Combines the results of several runs of reel-bench --json into one: the medians of the runs' medians,
# ratios and faults, and the quartiles of their medians. Each run counts. A result that some of the
# runs lack is an error.

# The number after "name": in the line.
function number(name,   text) {
	text = $0
	sub(".*\"" name "\": ", "", text)
	return text + 0
}

{
	key = $0
	sub(/, "median": .*/, "", key)
	if (!(key in runs))
		keys[++results] = key
	run = ++runs[key]
	median[key, run] = number("median")
	ratio[key, run] = number("ratio")
	faults[key, run] = number("faults")
	base[key] = $0
	sub(/.*"ratio_to": "/, "", base[key])
	sub(/".*/, "", base[key])
}

# sorted[1] to sorted[n] are values[key, 1] to values[key, n] in ascending order.
function sort(values, key, n,   i, j) {
	for (i = 1; i <= n; i++) {
		for (j = i; j > 1 && sorted[j - 1] > values[key, i]; j--)
			sorted[j] = sorted[j - 1]
		sorted[j] = values[key, i]
	}
}

function middle(values, key, n) {
	sort(values, key, n)
	return sorted[int(n / 2) + 1]
}

END {
	for (i = 1; i <= results; i++) {
		key = keys[i]
		n = runs[key]
		if (n != runs[keys[1]]) {
			print key ": " n " runs, and " runs[keys[1]] " of " keys[1] >"/dev/stderr"
			exit 1
		}
		fault = middle(faults, key, n)
		quotient = middle(ratio, key, n)
		sort(median, key, n)
		printf "%s, \"median\": %.4f, \"lower\": %.4f, \"upper\": %.4f, \"max\": %.4f, " \
			"\"ratio\": %.4f, \"ratio_to\": \"%s\", \"faults\": %.1f}\n", key,
			sorted[int(n / 2) + 1], sorted[int(n / 4) + 1], sorted[n - int(n / 4)], sorted[n],
			quotient, base[key], fault
	}
}
