# SPDX-License-Identifier: MIT
# Makes the chart of README.md, with absolute figures, from RESULTS.md:
#
#	awk -f bench/chart.awk -f bench/front.awk bench/RESULTS.md >bench/front.svg
#
# A result that was not measured has no bar.

BEGIN {
	FS = " [|] "
	MARGIN = 16; LEFT = 216; WIDTH = 400; ROW = 19
	EDGE = LEFT + WIDTH + 60 + MARGIN
}

/^Machine: / {
	machine = substr($0, 10)
	sub(/,$/, "", machine)
}

/^[|] [^|]+ [|] [^|]+ [|] [0-9]+ [|] / { median[substr($1, 3), $2, $3] = $5 }

# ---- The bars ----

function group(label, its_unit) {
	title[++rows] = label
	unit = its_unit
	highest[rows] = 0
	its_group = rows
}

# Adds a bar. In a group with the unit ns it shows the median; in one with GB/s, the inverse of nanoseconds a byte.
function bar(label, name, variant, n,   time) {
	if (!((name, variant, n) in median))
		return
	time = median[name, variant, n]
	title[++rows] = label
	value[rows] = unit == "ns" ? time : 1 / time
	shown[rows] = sprintf(value[rows] < 10 ? "%.1f" : "%.0f", value[rows]) " " unit
	of[rows] = its_group
	if (value[rows] > highest[its_group])
		highest[its_group] = value[rows]
}

function sweep(label, name,   n) {
	n = "2147483648"
	group("A tape of eight times its memory, " label, "GB/s")
	bar("Reel", name, "reel, budget", n)
	bar("mapped file (mmap)", name, "mapped file", n)
	bar("stdio (fwrite, fread)", name, "stdio files", n)
}

function collect(   n) {
	n = "100000000"
	group("A push and its pop, 100 million doubles in memory: less is better", "ns")
	bar("Reel", "single/push+pop", "reel push, pop", n)
	bar("Tapenade's stack", "dropin/real8", "as the original works", n)
	bar("array that realloc() doubles", "single/push+pop", "realloc, doubling", n)
	bar("Clad's tape", "clad/push+pop", "slabs, as Clad's", n)
	sweep("to the disk: more is better", "spill/forward/0.3")
	sweep("back from the disk: more is better", "spill/reverse/0.3")
}

# ---- Drawing ----

function put_bar(r, y,   length_) {
	length_ = WIDTH * value[r] / highest[of[r]]
	text(MARGIN + 12, y, "", title[r])
	printf "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"11.0\"/>\n",
		title[r] == "Reel" ? "reel" : "other", LEFT, y - 10, length_
	text(LEFT + length_ + 6, y, "", shown[r])
}

END {
	collect()
	for (r = 1; r <= rows; r++)
		height += r in value ? ROW : highest[r] ? ROW + 8 : 0
	begin_chart(EDGE, height + 40, "Reel beside other tapes",
		".group { font-weight: bold }\n" \
		".small { font-size: 11px; fill: #666 }\n" \
		".reel { fill: #0072b2 }\n" \
		".other { fill: #999 }\n",
		".small { fill: #aaa }\n")
	y = 16
	for (r = 1; r <= rows; r++)
		if (r in value)
			put_bar(r, y += ROW)
		else if (highest[r])
			text(MARGIN, y += r > 1 ? ROW + 8 : 8, "group", title[r])
	text(MARGIN, height + 30, "small", machine)
	print "</svg>"
}
