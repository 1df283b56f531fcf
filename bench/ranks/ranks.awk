# SPDX-License-Identifier: MIT
# Makes the part of bench/SCALING.md on ranks from the measurements of ranks.sh:
#
#	processors P
#	halo COLUMNS BYTES FORWARD REVERSE RATIO                       microseconds
#	run threads|RANKS CELLS COLUMNS STEPS FORWARD REVERSE          seconds
#
# The model is of the reverse sweep. The time of the forward sweep depends more on the memory of the system:
# a tape may get it three times as fast in one run as in another. In a step a rank calculates its rows and
# `extra` rows of the halo, and exchanges rows at each border. With r rows of C columns on p ranks, of which
# each processor runs p / P:
#
#	step = load (cell C (r / p + extra borders) + borders (latency + C column))
#
# where load is the number of ranks that a processor runs, and a rank has 2 (p - 1) / p borders on average.
# `cell` is fitted to one rank, `latency` and `column` to the exchanges of two ranks.

# The halo rows that the stages calculate at a border, over the number of stages.
BEGIN { extra = (2 + 1 + 1 + 1 + 1 + 0) / 4 / 2 }

function sort_of(list, count, sorted,   i, k, x) {
	for (i = 1; i <= count; i++) {
		x = list[i]
		for (k = i - 1; k >= 1 && sorted[k] > x; k--)
			sorted[k + 1] = sorted[k]
		sorted[k + 1] = x
	}
}

# Returns the median of from[name, 1 .. rounds[name]]. Sets `low` and `high` to the extremes.
function median_of(from, name,   list, sorted, i) {
	for (i = 1; i <= rounds[name]; i++)
		list[i] = from[name, i]
	sort_of(list, rounds[name], sorted)
	low = sorted[1]
	high = sorted[rounds[name]]
	return sorted[int((rounds[name] + 1) / 2)]
}

$1 == "processors" { processors = $2 }

$1 == "halo" && $2 + 0 > 0 {
	halos++
	halo_columns[halos] = $2
	halo_bytes[halos] = $3
	forward[halos] = $4
	reverse[halos] = $5
	ratio[halos] = $6
}

$1 == "run" {
	cells = $3
	columns = $4
	steps = $5
	seconds[$2, ++rounds[$2]] = $7
	both[$2, rounds[$2]] = $6 + $7
}

function median(name) {
	return median_of(seconds, name)
}

# Fits `latency` and `column`, in seconds, to the exchanges of the reverse sweep by least squares.
function fit_exchange(   i, x, y, sx, sy, sxx, sxy) {
	for (i = 1; i <= halos; i++) {
		x = halo_columns[i]
		y = 1e-6 * reverse[i]
		sx += x
		sy += y
		sxx += x * x
		sxy += x * y
	}
	column = (halos * sxy - sx * sy) / (halos * sxx - sx * sx)
	latency = (sy - column * sx) / halos
}

# Returns the seconds of a step of `rows` times `width` cells on p ranks, if each processor runs `load` ranks.
function step_of(p, rows, width, load,   borders) {
	borders = 2 * (p - 1) / p
	return load * (cell * width * (rows / p + extra * borders) + borders * (latency + column * width))
}

function print_exchange(   i) {
	print "An exchange of two rows each way between two ranks, microseconds, medians of 21 rounds in turns:"
	print ""
	print "| columns | bytes of a message | exchange | its reverse | ratio |"
	print "|---|---|---|---|---|"
	for (i = 1; i <= halos; i++)
		printf "| %d | %d | %.2f | %.2f | %.3f |\n", halo_columns[i], halo_bytes[i], forward[i],
			reverse[i], ratio[i]
}

function print_runs(   rows, p, time, one, guess, load) {
	rows = cells / columns
	cell = median("1") / steps / cells
	printf "The reverse sweep of %d steps on %d x %d cells, one thread a rank, medians of %d runs in turns (least to\n",
		steps, rows, columns, rounds["1"]
	printf "most); one process of two threads takes %.3f s.\n\n", median("threads")
	print "| ranks | s | least to most | model, s | off by |"
	print "|---|---|---|---|---|"
	for (p = 1; p <= 8; p *= 2) {
		time = median(p "")
		load = p > processors ? p / processors : 1
		guess = steps * step_of(p, rows, columns, load)
		error = guess / time - 1
		printf "| %d | %.3f | %.3f to %.3f | %.3f | %+.0f %% |\n", p, time, low, high, guess, 100 * error
	}
	printf "\nTwo ranks of one thread take %.2f times as long as one process of two threads, and %.2f times with the\n",
		median("2") / median("threads"), least_of_both("2") / least_of_both("threads")
	print "forward sweep (the fastest run of each, since memory that the system has to find makes others slower)."
}

function least_of_both(name) {
	median_of(both, name)
	return low
}

# Predicts times on a larger machine. The speed of its network is assumed, not measured.
function print_prediction(   p, strong, weak, side, spread) {
	side = 8192
	median("1")
	spread = (high - low) / 2 / median("1")
	latency = 2e-6
	column = 48 * 2 / 10e9
	printf "A step of the reverse sweep on %d x %d cells (strong), and on 64 rows of %d cells a rank (weak), if each rank\n",
		side, side, side
	print "has a processor like this one to itself, a message takes 2 us, and the network moves 10 GB/s:"
	print ""
	print "| ranks | strong, ms | efficiency | weak, ms | efficiency |"
	print "|---|---|---|---|---|"
	for (p = 1; p <= 1024; p *= 4) {
		strong = step_of(p, side, side, 1)
		weak = step_of(p, 64 * p, side, 1)
		printf "| %d | %.3g | %.2f | %.3g | %.2f |\n", p, 1e3 * strong,
			step_of(1, side, side, 1) / p / strong, 1e3 * weak, step_of(1, 64, side, 1) / weak
	}
	printf "\nThe time of a cell is known to %.0f %%, and the model is off by %.0f %% on 8 ranks. The rest is assumed.\n",
		100 * spread, 100 * (error < 0 ? -error : error)
	print "A message of 16 us in place of 2 takes the strong efficiency on 1,024 ranks to " \
		sprintf("%.2f", efficiency(16e-6, side)) ". What limits it is the halo:"
	print "with 8 rows a rank, a rank calculates " sprintf("%.1f", 2 * extra) " rows twice."
}

function efficiency(message, side) {
	latency = message
	return step_of(1, side, side, 1) / 1024 / step_of(1024, side, side, 1)
}

END {
	print "## Ranks"
	print ""
	print "What `bench/ranks/ranks.sh` measures: the tsunami's gradient on ranks of MPI, on this machine."
	print ""
	print_exchange()
	print ""
	fit_exchange()
	print_runs()
	print ""
	print_prediction()
}
