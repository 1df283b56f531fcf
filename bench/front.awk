# SPDX-License-Identifier: MIT
# The chart of README.md, from the last table of RESULTS.md:
#
#	awk -f bench/front.awk bench/RESULTS.md >bench/front.svg
#
# A bar is the time of something else over that of Reel in the same case. A case that was not
# measured has no bar.

BEGIN {
	FS = " [|] "
	MARGIN = 16; NAMES = 292; NUMBER = 28; LEFT = MARGIN + NAMES; WIDTH = 380
	ROW = 17; TOP = 66
	LOW = 0.25; HIGH = 128
}

/^[|] [^|]+ [|] [^|]+ [|] [0-9]+ [|] / { median[substr($1, 3), $2, $3] = $5 }

# ---- What is compared ----

function group(text) { title[++rows] = text }

function bar(text, quotient) {
	if (quotient) {
		title[++rows] = text
		value[rows] = quotient
	}
}

# 0 where one of both was not measured.
function over(name, n, other, reel) {
	if (!((name, other, n) in median) || !((name, reel, n) in median))
		return 0
	return median[name, other, n] / median[name, reel, n]
}

function compare(text, name, n, other, reel) { bar(text, over(name, n, other, reel)) }

# The geometric mean over all large kernels.
function kernels(other,   key, part, q, logs, count) {
	for (key in median) {
		split(key, part, SUBSEP)
		if (part[1] !~ /^kernel\/.*\/large$/ || part[2] != other)
			continue
		q = over(part[1], part[3], other, "best")
		logs += log(q)
		count++
	}
	return count ? exp(logs / count) : 0
}

function collect(   n, single, reel) {
	n = "100000000"; single = "single/push+pop"; reel = "reel push, pop"
	group("Generated code, relinked or recompiled")
	compare("Tapenade: stack as of 2024, linked", "dropin/real8", "1000000",
		"as the original works", "static library")
	compare("Tapenade: the same, inline", "dropin/real8", "1000000", "as the original works",
		"header, inline")
	compare("Clad: its slabs, a million values", "clad/push+pop", "1000000",
		"slabs, as Clad's", "reel custom_tape")
	compare("Clad: its slabs, 100 million values", "clad/push+pop", n, "slabs, as Clad's",
		"reel custom_tape")
	group("A tape of eight times its memory")
	compare("stdio, forward sweep", "spill/forward/0.3", "2147483648", "stdio files", "reel, budget")
	compare("stdio, reverse sweep", "spill/reverse/0.3", "2147483648", "stdio files", "reel, budget")
	compare("mapped file, forward sweep", "spill/forward/0.3", "2147483648", "mapped file",
		"reel, budget")
	compare("mapped file, reverse sweep", "spill/reverse/0.3", "2147483648", "mapped file",
		"reel, budget")
	group("A push and its pop, 100 million values")
	compare("slabs by malloc() under a lock", single, n, "slabs by malloc, locked", reel)
	compare("array that realloc() doubles", single, n, "realloc, doubling", reel)
	group("A cold tape, 100 million values")
	compare("Clad: its slabs", "clad/cold", n, "slabs, as Clad's", "reel custom_tape")
	compare("fresh array on small pages", "cold/push+pop", n, "fresh array, small pages",
		"reel span, fresh pool")
	group("Nine gradients by hand, mean")
	bar("arrays by malloc() in each gradient", kernels("soa-fresh"))
	bar("arrays that are kept", kernels("soa-warm"))
	group("ADOL-C overloads; by hand on Reel")
	compare("log of a sum", "peer/logsum/paper", "10000", "adol-c", "reel best")
	compare("gravity", "peer/gravity/paper", "403968", "adol-c", "reel best")
	group("When a tape is not for you")
	compare("fresh array on huge pages, used once", "cold/push+pop", n, "fresh array, huge pages",
		"reel span, fresh pool")
	n = "1000000"
	compare("pointer that is bumped, a million values", single, n, "bare bump pointer", reel)
	compare("realloc() that doubles, a million values", single, n, "realloc, doubling", reel)
	compare("Clad: one value a tape", "clad/one value a tape", "19000", "slabs, as Clad's",
		"reel custom_tape")
	compare("array that is large enough", single, n, "array, there already", reel)
}

# ---- Drawing ----

function across(q) { return LEFT + WIDTH * (log(q) - log(LOW)) / (log(HIGH) - log(LOW)) }

function text(x, y, class, s) {
	printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, s
}

function put_rect(class, x, y, width, height) {
	printf "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		class, x, y, width, height
}

function head(height) {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		LEFT + WIDTH + NUMBER + MARGIN, height, LEFT + WIDTH + NUMBER + MARGIN, height
	print "<title>Time over that of Reel</title>"
	print "<style>"
	print "text { font: 12px sans-serif; fill: #222 }"
	print ".group { font-weight: bold }"
	print ".tick { text-anchor: middle }"
	print ".sheet { fill: #fff }"
	print ".more { fill: #0072b2 }"
	print ".less { fill: #d55e00 }"
	print ".line { stroke: #ccc }"
	print ".one { stroke: #666 }"
	print "@media (prefers-color-scheme: dark) {"
	print "text { fill: #ddd }"
	print ".sheet { fill: #161616 }"
	print ".line { stroke: #444 }"
	print ".one { stroke: #aaa }"
	print "}"
	print "</style>"
	print "<rect class=\"sheet\" width=\"100%\" height=\"100%\"/>"
	text(MARGIN, 24, "", "Time of what else one can use over that of Reel (1); logarithmic")
	put_rect("more", MARGIN, 36, 10, 10)
	text(MARGIN + 15, 45, "", "Reel takes less")
	put_rect("less", MARGIN + 130, 36, 10, 10)
	text(MARGIN + 145, 45, "", "Reel takes more: use what stands there")
}

function ticks(bottom,   q) {
	for (q = LOW; q <= HIGH; q *= 2) {
		printf "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
			q == 1 ? "one" : "line", across(q), TOP - 6, across(q), bottom
		text(across(q), bottom + 16, "tick", q)
	}
}

# Sets top[r] for each row that is drawn, and returns where the last one ends. A group without a bar
# is left out.
function place_rows(   r, y) {
	y = TOP
	for (r = 1; r <= rows; r++)
		if (r in value || (r + 1) in value) {
			top[r] = y
			y += ROW + (r in value && !((r + 1) in value) ? 6 : 0)
		}
	return y
}

function put_bar(y, q) {
	put_rect(q < 1 ? "less" : "more", across(q < 1 ? q : 1), y + 3,
		across(q < 1 ? 1 : q) - across(q < 1 ? q : 1), ROW - 6)
	text(across(q < 1 ? 1 : q) + 5, y + 12, "", sprintf(q < 10 ? "%.2f" : "%.0f", q))
}

function put_rows(   r) {
	for (r = 1; r <= rows; r++) {
		if (!(r in top))
			continue
		text(MARGIN + (r in value ? 12 : 0), top[r] + 12, r in value ? "" : "group", title[r])
		if (r in value)
			put_bar(top[r], value[r])
	}
}

END {
	collect()
	bottom = place_rows()
	head(bottom + 26)
	ticks(bottom)
	put_rows()
	print "</svg>"
}
