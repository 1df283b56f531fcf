#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the bytes of states by the digits of the gradient, for the examples and the loops of models.c, and other ways to
# store states in fewer bytes. Prints the tables, from which digits.awk makes the chart:
#
#	bench/digits/digits.sh build/main >bench/RESULTS-digits.md
#	awk -f bench/chart.awk -f bench/digits/digits.awk bench/RESULTS-digits.md >bench/digits.svg
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
build=${1:-.}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# key NAME: prints the value of NAME in the summary of the last run.
key() {
	sed -n "s/^ *\"$1\": \(.*[^,]\),\{0,1\}\$/\1/p" "$out/summary.json"
}

# example NAME PROGRAM OPTION...: prints the rows of an example.
example() {
	name=$1
	shift
	for digits in 2 4 6 8 10; do
		"$@" --quiet --output "$out" --checkpoint binomial:20 --digits $digits --verify >&2
		awk -v name="$name" -v digits=$digits -v before="$(key rounded_bytes)" -v after="$(key kept_bytes)" \
			-v bound="$(key error_bound)" -v error="$(key error)" -v gradients="$(key gradients)" \
			-v tolerance="$(key tolerance)" 'BEGIN {
			if (tolerance > 0)
				printf "| %s | %d | %.4f | %.1e | %.1e | %d |\n", name, digits, after / before, bound, error, gradients
			else
				printf "| %s | %d | as they are | | | %d |\n", name, digits, gradients }'
	done
}

cat <<END
# Digits of gradients

How many bytes do stored states take up if the gradient is to have N digits, and how large is its error? And which
error do other ways have that store states in fewer bytes? [The page](../doc/digits.md) has the way that Reel takes.

![Bytes of states by digits, and errors by bytes](digits.svg)

Bytes are those of the stored states, over those of their doubles. The bound, and the error beside states that lose
nothing, are relative to the largest component. The tables, and the chart from them, are made by

	bench/digits/digits.sh build/main >bench/RESULTS-digits.md
	awk -f bench/chart.awk -f bench/digits/digits.awk bench/RESULTS-digits.md >bench/digits.svg

The tsunami has an idealised basin, 10 hours on cells of 20 minutes; the Sedov blast 8^3 elements and
\`--frozen\`; both \`--checkpoint binomial:20\`. The others are in bench/digits/models.c.

| loop | digits | bytes | bound | error | gradients |
|---|---|---|---|---|---|
END
example tsunami "$build/examples/tsunami/tsunami" --basin idealised --resolution 20 --hours 10 --threads 1
example Sedov "$build/examples/sedov/sedov" --size 8 --frozen
"$build/bench/digits/digits"
cat <<END

Shallow water, with a state before each fourth step. The last column is the error of Reel at the tolerance at which it
takes the bytes of the other way.

| way | bytes | error | Reel at these bytes |
|---|---|---|---|
END
"$build/bench/digits/digits" --ways
