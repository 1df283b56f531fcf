# SPDX-License-Identifier: MIT
# Makes a chart from the tables of RESULTS-digits.md: on the left the bytes of states by the digits of the gradient, on the
# right the error of the gradient by the bytes of states.
#
#	awk -f bench/chart.awk -f bench/digits/digits.awk bench/RESULTS-digits.md >bench/digits.svg

BEGIN {
	FS = " [|] "
	LEFT = 56; WIDTH = 300; GAP = 150; TOP = 66; HEIGHT = 260
	MOST = 0.7 # bytes
	LOWEST = -14 # decade of an error
	split("#0072b2 #d55e00 #009e73 #cc79a7 #8c6d31", colour, " ")
}

/^[|] loop / { table = "loops" }
/^[|] way / { table = "ways" }
/^[|] [^-]/ { name = substr($1, 3) }

table == "loops" && $3 ~ /^[0-9]/ {
	if (!(name in known)) {
		known[name] = 1
		loop[++loops] = name
	}
	bytes[name, ++rows[name]] = $3
	digits[name, rows[name]] = $2
}

table == "ways" && $2 ~ /^[0-9]/ {
	if (name ~ /^Reel/) {
		reel_bytes[++reels] = $2
		reel_error[reels] = $3
	} else {
		way[++ways] = name
		way_bytes[ways] = $2
		way_error[ways] = $3
	}
}

# ---- Bytes by digits ----

function by_digits(d) { return LEFT + WIDTH * (d - 2) / 8 }

function down_bytes(b) { return TOP + HEIGHT * (1 - b / MOST) }

function draw_loops(   i, k, b, y, d) {
	text(16, 24, "", "Bytes of states, over those of doubles,")
	text(16, 40, "", "by the digits of the gradient asked for")
	for (b = 0; b <= MOST + 0.01; b += 0.1) {
		put_line("line", LEFT, down_bytes(b), LEFT + WIDTH, down_bytes(b))
		text(LEFT - 8, down_bytes(b) + 4, "down", sprintf("%.1f", b))
	}
	for (d = 2; d <= 10; d += 2)
		text(by_digits(d), TOP + HEIGHT + 18, "across", d)
	text(LEFT + WIDTH / 2, TOP + HEIGHT + 36, "across", "digits")
	for (i = 1; i <= loops; i++) {
		printf "<polyline class=\"curve\" stroke=\"%s\" points=\"", colour[i]
		for (k = 1; k <= rows[loop[i]]; k++)
			printf "%s%.1f,%.1f", (k > 1 ? " " : ""), by_digits(digits[loop[i], k]),
				down_bytes(bytes[loop[i], k] > MOST ? MOST : bytes[loop[i], k])
		print "\"/>"
		y = TOP + 14 + 18 * i
		printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", LEFT + 10, y - 9, colour[i]
		text(LEFT + 26, y, "", loop[i])
	}
}

# ---- Errors by bytes ----

function by_bytes(b) { return LEFT + WIDTH + GAP + WIDTH * b / MOST }

function down_error(e) { return TOP + HEIGHT * log(e) / log(10) / LOWEST }

function draw_ways(   i, b, d, left) {
	left = LEFT + WIDTH + GAP
	text(left - 40, 24, "", "Error of the gradient of shallow water,")
	text(left - 40, 40, "", "by the bytes of states, over those of doubles")
	for (d = 0; d >= LOWEST; d -= 2) {
		put_line("line", left, down_error(10 ^ d), left + WIDTH, down_error(10 ^ d))
		text(left - 8, down_error(10 ^ d) + 4, "down", d ? "1e" d : 1)
	}
	for (b = 0; b <= MOST + 0.01; b += 0.1)
		text(by_bytes(b), TOP + HEIGHT + 18, "across", sprintf("%.1f", b))
	text(left + WIDTH / 2, TOP + HEIGHT + 36, "across", "bytes")
	printf "<polyline class=\"curve\" stroke=\"%s\" points=\"", colour[1]
	for (i = 1; i <= reels; i++)
		if (reel_error[i] > 10 ^ LOWEST)
			printf "%s%.1f,%.1f", (i > 1 ? " " : ""), by_bytes(reel_bytes[i]), down_error(reel_error[i])
	print "\"/>"
	text(by_bytes(0.3) - 8, down_error(1e-10), "down", "Reel")
	for (i = 1; i <= ways; i++) {
		printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", by_bytes(way_bytes[i]),
			down_error(way_error[i]), colour[2]
		# A label above its dot keeps clear of the one beside the next dot.
		if (i % 4)
			text(by_bytes(way_bytes[i]) + 8, down_error(way_error[i]) + 4, "", way[i])
		else
			text(by_bytes(way_bytes[i]) - 4, down_error(way_error[i]) - 8, "", way[i])
	}
}

END {
	begin_chart(LEFT + 2 * WIDTH + GAP + 90, TOP + HEIGHT + 48, "Bytes of states by digits, and errors by bytes",
		".curve { fill: none; stroke-width: 2 }\n")
	draw_loops()
	draw_ways()
	print "</svg>"
}
