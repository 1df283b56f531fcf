# SPDX-License-Identifier: MIT
# After rows.awk: what was asked of Reel, what was measured, and why it is not more where it is
# less. A figure whose cases are not among the results says so.

# The median of one result; without n, of the largest.
function median(name, variant, n) {
	if (n ? (name, variant, n) in medians : (name, variant) in medians)
		return n ? medians[name, variant, n] : medians[name, variant]
	missing = 1
	return 1
}

function least(a, b) { return a < b ? a : b }

function times(quotient) { return sprintf("%.3g x", quotient) }

function figure(what, asked, measured, is_reached, why) {
	printf "| %s | %s | %s | %s |\n", what, asked, missing ? "-" : measured,
		missing ? "not measured" : is_reached ? "yes" : "no"
	if (!missing && !is_reached)
		reasons[++reason_count] = what ": " why
	missing = 0
}

# Why a figure is missed: where it is missed by a hair, because of that.
function by_a_hair(q, limit, why) {
	return q < 1.03 * limit && q > 0.97 * limit ? \
		"runs on this machine end on either side of what was asked." : why
}

# How many instructions the tape has more than a bare pointer, in words.
function more_instructions(operation,   name) {
	name = "instructions/double/" operation
	if (!((name, "reel " operation) in medians))
		return "some"
	return medians[name, "reel " operation] - medians[name, "pointer in memory"]
}

function floor_figure(   floor, q) {
	floor = median("floor/stream", "store", large)
	if (("floor/stream", "store past the cache", large) in medians)
		floor = least(floor, median("floor/stream", "store past the cache", large))
	floor += median("floor/stream", "load, descending", large)
	q = floor / median("bulk/write+read", "reel span", large)
	figure("64 Mi doubles by spans: the better store and the descending load over push and pop",
		"0.92", sprintf("%.3f", q), q >= 0.92,
		"a span is a loop of its own and stored through the cache; the floor is one loop.")
}

# At most `most` nanoseconds, or at most `ratio` times what the other variant takes.
function either(what, name, variant, other, n, most, ratio, than, why,   ours, q) {
	ours = median(name, variant, n)
	q = ours / median(name, other, n)
	figure(what, sprintf("%s ns, or %s x %s", most, ratio, than),
		sprintf("%.3f ns, %s", ours, times(q)), ours <= most || q <= ratio,
		by_a_hair(q, ratio, why))
}

function shape_figures(   array, bump, why) {
	array = "array, there already"; bump = "bare bump pointer"
	why = "what separates them is the room that is asked for, once a span."
	either("span in L2, written, a double", "bulk/write", "reel span", array, cached,
		"0.045", "1.15", "a plain array", why)
	either("span in L2, read, a double", "bulk/read", "reel span", array, cached,
		"0.05", "1.15", "a plain array", why)
	why = "the comparison with the limit is not hidden by the stores, see the instructions."
	either("record pushed through a cursor, L2, a double", "record/push", "reel cursor", bump,
		cached, "0.27", "1.2", "a bare bump", why)
	either("record pushed through a cursor, 128 MiB, a double", "record/push", "reel cursor",
		bump, "", "0.27", "1.2", "a bare bump", why)
	why = "a record is compared with the limit, and a tape is slabs, an array one piece."
	either("record popped through a cursor, L2, a double", "record/pop", "reel cursor", bump,
		cached, "0.26", "1.2", "a bare bump", why)
	either("record popped through a cursor, 128 MiB, a double", "record/pop", "reel cursor",
		bump, "", "0.26", "1.2", "a bare bump", why)
}

function single_figures(   n, ours, q) {
	n = 1000000
	ours = median("single/push+pop", "reel push, pop", n)
	figure("single push and pop, a pair", "0.9 ns", sprintf("%.3f ns", ours), ours <= 0.9,
		sprintf("a bare pointer takes %.3f ns; a push has %s instructions more, a pop %s.",
			median("single/push+pop", "bare bump pointer", n),
			more_instructions("push"), more_instructions("pop")))
	q = ours / median("single/push+pop", "slabs by malloc, locked", n)
	figure("single push and pop over slabs of 1,024 under a lock", "0.5 x", times(q), q <= 0.5,
		"the lock costs less here than elsewhere.")
}

function memory_figures(   q, most, faults, i) {
	q = median("cold/push+pop", "reel span, fresh pool", 100000000) / \
	    median("cold/push+pop", "fresh array, huge pages", 100000000)
	figure("cold tape of 1e8 doubles over a bare huge-page array", "1.2 x", times(q), q <= 1.2,
		"the page faults are the same; the rest is what a fresh pool maps and hands over.")
	missing = 1
	for (i = 1; i <= rows; i++)
		if (field[i, "case"] ~ /^kernel/ &&
		    field[i, "variant"] ~ /^(plain|best|least|block)$/) {
			missing = 0
			faults = field[i, "faults"] + 0
			most = faults > most ? faults : most
		}
	figure("page faults of a warm gradient, the most of all kernels", "0", most + 0, !most,
		"`faults` below tells which.")
}

# Of all large kernels: the geometric mean, and the least in least_kernel and least_quotient.
function mean_over_best(variant,   i, q, logs, count) {
	least_quotient = 0
	for (i = 1; i <= rows; i++)
		if (field[i, "case"] ~ /^kernel\/.*\/large$/ && field[i, "variant"] == variant) {
			q = field[i, "median"] / median(field[i, "case"], "best")
			logs += log(q)
			count++
			if (!least_quotient || q < least_quotient) {
				least_quotient = q
				least_kernel = field[i, "case"]
				gsub(/kernel\/|\/large/, "", least_kernel)
			}
		}
	if (count != 9)
		missing = 1
	return missing ? 1 : exp(logs / count)
}

function kernel_figures(   q) {
	q = mean_over_best("soa-fresh")
	figure("nine kernels, large: arrays by malloc() in each gradient over ours, mean",
		"3 x", times(q), q >= 3,
		"the distance is page faults, and fresh pages cost less here.")
	q = mean_over_best("soa-warm")
	figure("nine kernels, large: arrays kept and staggered over ours, mean",
		"1.05 x", times(q), q >= 1.05,
		"the layout is worth less here than what the loops take.")
	mean_over_best("soa-warm")
	figure("nine kernels, large: arrays kept and staggered over ours, the least",
		"0.95 x", least_kernel " " times(least_quotient), least_quotient >= 0.95,
		by_a_hair(least_quotient, 0.95,
			"its loops and values are the same, its addresses are not."))
	q = median("kernel/somier/large", "soa-page") / median("kernel/somier/large", "best")
	figure("somier, large: 24 columns that begin at pages, over ours", "3 x", times(q), q >= 3,
		"columns multiples of 4 KiB apart cost this processor's caches and TLB less.")
}

function less_memory(name) {
	name = "memory/massspring/" name
	return median(name, "best") / median(name, "block")
}

function replay_figures(   q, small) {
	q = median("kernel/massspring/large", "best") / median("kernel/massspring/large", "block")
	figure("mass spring, large: full tape over block replay, time", "1.8 x", times(q),
		q >= 1.8, "it runs the primal once more, which is a larger part of the whole here.")
	q = less_memory("tape")
	figure("mass spring, large: full tape over block replay, bytes on the tape",
		"50 x", times(q), q >= 50,
		"a block is what fits half of L2, and this L2 is large.")
	small = less_memory("pool-256K")
	q = less_memory("pool")
	figure("mass spring, large: full tape over block replay, bytes of the pool",
		"50 x", times(q), q >= 50,
		"a pool holds whole slabs, of 2 MiB; with slabs of 256 KiB it is " times(small) ".")
}

function thread_figure(   q) {
	q = median("threads/two", "an array each") / median("threads/two", "a reel tape each")
	figure("two threads: two tapes over two bare arrays, throughput",
		"0.95 x", times(q), q >= 0.95,
		by_a_hair(q, 0.95, "a tape is slabs, an array one piece."))
}

function recording_figures(   q) {
	two_threads("recording, a reader for each of 16 seeds", "recording/readers", 1.8,
		"both threads read the same memory.")
	q = median("recording/seeds", "four seeds") / median("recording/seeds", "one seed")
	figure("recording, four seeds in one pass over one seed", "1.5 x", times(q), q <= 1.5,
		"the adjoints of four seeds are computed.")
}

function worst_form(   n, q, i, forms, name, worst) {
	split("product,time steps,branches,heat", forms, ",")
	for (i = 1; i <= 4; i++) {
		name = "clad/" forms[i]
		n = forms[i] == "heat" ? 1024000 : 1000000
		q = median(name, "reel custom_tape", n) / median(name, "bare cursors", n)
		worst = q > worst ? q : worst
	}
	return worst
}

function clad_figures(   q, n) {
	n = 1000000
	q = median("clad/push+pop", "reel custom_tape", n) / \
	    median("clad/push+pop", "bare bump cursor", n)
	figure("Clad's forms, warm: a double pushed and popped over a bare cursor", "1.1 x",
		times(q), q <= 1.1,
		by_a_hair(q, 1.1, "a push and a pop have a comparison each that a bare cursor has not; " \
			"a cursor that compares and does nothing else is at " \
			times(median("clad/push+pop", "bounded cursor", n) / \
				median("clad/push+pop", "bare bump cursor", n)) "."))
	q = worst_form()
	figure("Clad's gradients, warm: over bare cursors, the worst of four", "1.1 x", times(q),
		q <= 1.1, by_a_hair(q, 1.1, "each push and pop has a comparison more, each count of " \
			"a loop by back() two."))
	n = 100000000
	q = median("clad/cold", "reel custom_tape", n)
	figure("Clad's forms, cold: 1e8 doubles, a pair", "1 ns", sprintf("%.3f ns", q), q <= 1,
		sprintf("%.3g ns of that the system clears huge pages, and a bare array on them " \
			"takes %.3g ns.", median("clad/cold", "huge pages alone", n),
			median("clad/cold", "fresh array, huge pages", n)))
}

# Of both sweeps and all that is calculated beside them, from least to most nanoseconds a byte:
# the worst in worst_sweep and worst_quotient.
function worst_sweep_of(min_work, max_work,   i, q, part) {
	worst_quotient = 0
	for (i = 1; i <= rows; i++) {
		if (split(field[i, "case"], part, "/") != 3 || part[1] != "spill" ||
		    part[2] !~ /^(forward|reverse)$/ || field[i, "variant"] != "reel, budget" ||
		    part[3] < min_work || part[3] > max_work)
			continue
		q = field[i, "median"] / median(field[i, "case"], "compute or transfer")
		if (q > worst_quotient) {
			worst_quotient = q
			worst_sweep = part[2] " at " part[3] " ns"
		}
	}
	if (!worst_quotient)
		missing = 1
}

function spill_figures(   q) {
	worst_sweep_of(0.3, 1e9)
	q = worst_quotient
	figure("tape of 8 budgets, 0.3 ns of calculation a byte and more: over the longer of that " \
		"and plain transfer, the worst", "1.1 x", worst_sweep ", " times(q), q <= 1.1,
		by_a_hair(q, 1.1, "the offload threads share the processors with the sweep."))
	worst_sweep_of(0, 0)
	q = worst_quotient
	figure("tape of 8 budgets, no calculation: over plain transfer, the worst",
		"1.15 x", worst_sweep ", " times(q), q <= 1.15,
		by_a_hair(q, 1.15, "a transfer begins when there is something to write, or to read."))
	q = median("spill/growth", "reel, budget", "17179869184") / \
	    median("spill/growth", "reel, budget", "4294967296")
	figure("tape of 16 GiB over one of 4 GiB, the same budget, a byte", "1.15 x", times(q),
		q <= 1.15, by_a_hair(q, 1.15, "a disk is not equally fast all over."))
	q = (median("spill/resident", "reel, budget") - median("spill/resident", "no tape")) / \
	    median("spill/resident", "hard budget")
	figure("tape of 8 budgets: what was resident, seen from outside, over the hard budget",
		"1.05 x", times(q), q <= 1.05, "what is beside the slabs is more than that.")
}

function parcel_quotient(direction) {
	return median("spill/parcels/" direction, "reel, budget") / \
	    median("spill/parcels/" direction, "compute or transfer")
}

function parcel_figures(   q, reversed) {
	q = parcel_quotient("in order")
	reversed = parcel_quotient("reversed")
	q = reversed > q ? reversed : q
	figure("parcels of 8 budgets, announced, 0.3 ns of calculation a byte: over the longer of that " \
		"and plain transfer, the worse of in order and reversed", "1.05 x", times(q), q <= 1.05,
		by_a_hair(q, 1.05, "the offload threads share the processors with the sweep."))
	q = median("parcels/64 bytes", "seal, pin, unpin, close")
	figure("parcel of 64 bytes in memory: seal, pin, unpin, close", "100 ns",
		sprintf("%.0f ns", q), q <= 100, "each takes a lock or adds to a counter.")
	q = median("parcels/8 readers", "one array") / median("parcels/8 readers", "reel parcels")
	figure("8 threads read one set of parcels, over a plain array", "0.9 x", times(q), q >= 0.9,
		by_a_hair(q, 0.9, "each parcel is pinned by each thread."))
}

function lookahead_figure(   q) {
	q = median("lookahead/line", "two threads, 2 tapes") / median("lookahead/line", "one thread")
	figure("reverse sweep with look-ahead, two threads over one", "0.55 x", times(q), q <= 0.55,
		"threads that wait do not all find a record to make.")
}

function two_threads(what, name, asked, why,   q) {
	q = median(name, "one thread") / median(name, "two threads")
	figure(what ", two threads over one", asked " x", times(q), q >= asked,
		by_a_hair(q, asked, why))
}

function omp_figures(   q) {
	q = median("omp/regions", "reel, empty lanes") - median("omp/regions", "parallel regions")
	figure("region of two lanes, recorded and reversed, beside two empty ones", "1 us",
		sprintf("%.2f us", q), q <= 1, "a region looks at each of its lanes.")
	q = median("omp/regions", "reel, one thread") - median("omp/regions", "parallel, one thread")
	figure("region of two lanes, recorded and reversed by one thread, beside two empty ones",
		"1 us", sprintf("%.2f us", q), q <= 1, "a region looks at each of its lanes.")
	two_threads("gradient of a network, shared weights", "omp/mlp", 1.9,
		"the copies of the weights' adjoints are added up.")
	two_threads("gradient of Burgers' equation, 100,000 cells", "omp/burgers-100000", 1.9,
		"both threads write to the same memory.")
	two_threads("gradient of Burgers' equation, 1,000 cells", "omp/burgers-1000", 1.4,
		"a step takes less time than to wake a thread at a barrier.")
	q = median("omp/burgers-1000", "one thread") / median("omp/burgers-1000", "serial, on an array")
	figure("gradient of Burgers' equation, 1,000 cells, one thread: rows as spans over an array",
		"1.15 x", times(q), q <= 1.15,
		by_a_hair(q, 1.15, "the state is copied to the tape, and computed in the array."))
}

function sedov_figures(   q) {
	q = median("sedov/two threads", "gradient") / median("sedov/two threads", "primal")
	figure("gradient of the Sedov blast over its primal, two threads, tapes in memory", "4.0 x",
		times(q), q <= 4.0, by_a_hair(q, 4.0, "the reverse sweep computes three steps."))
	q = median("sedov/two threads", "gradient, a twentieth") / median("sedov/two threads", "primal")
	figure("gradient of the Sedov blast over its primal, two threads, a twentieth in memory",
		"5.5 x", times(q), q <= 5.5, by_a_hair(q, 5.5, "steps are run again."))
	q = median("sedov/one thread", "gradient") / median("sedov/two threads", "gradient") / \
	    (median("sedov/one thread", "primal") / median("sedov/two threads", "primal"))
	figure("gradient of the Sedov blast, two threads over one, over that of its primal", "0.95 x",
		times(q), q >= 0.95, by_a_hair(q, 0.95, "it has more barriers."))
}

END {
	large = 67108864; cached = 32768
	print "## Figures asked\n\n| what | asked | measured | reached |\n|---|---|---|---|"
	floor_figure(); shape_figures(); single_figures(); memory_figures()
	kernel_figures(); replay_figures(); thread_figure(); recording_figures(); spill_figures()
	parcel_figures(); clad_figures()
	lookahead_figure(); omp_figures(); sedov_figures()
	print ""
	for (i = 1; i <= reason_count; i++)
		print "- " reasons[i]
	if (reason_count)
		print ""
}
