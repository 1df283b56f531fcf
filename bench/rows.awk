# SPDX-License-Identifier: MIT
# Reads results of reel-bench --json, an object a line, into field[row, key] for row = 1 ... rows, and
# medians[case, variant, n]. medians[case, variant] has the result of the largest n. spreads[] has the
# same keys: half of the distance between the quartiles, over the median.
{
	rows++
	pairs = split($0, pair, /, "/)
	for (p = 1; p <= pairs; p++) {
		gsub(/[{}"]/, "", pair[p])
		split(pair[p], part, /: /)
		field[rows, part[1]] = part[2]
	}
	name = field[rows, "case"] SUBSEP field[rows, "variant"]
	medians[name, field[rows, "n"]] = medians[name] = field[rows, "median"]
	spreads[name, field[rows, "n"]] = spreads[name] = field[rows, "median"] ? \
		(field[rows, "upper"] - field[rows, "lower"]) / 2 / field[rows, "median"] : 0
}
