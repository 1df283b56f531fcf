# SPDX-License-Identifier: MIT
# The parts of an SVG chart that all charts have, for pages of light and of dark colours.

# Begins a chart. `light` and `dark` are further rules of its style, for either kind of page.
function begin_chart(width, height, title, light, dark) {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		width, height, width, height
	print "<title>" title "</title>"
	print "<style>"
	print "text { font: 12px sans-serif; fill: #222 }"
	print ".down { text-anchor: end }"
	print ".across { text-anchor: middle }"
	print ".sheet { fill: #fff }"
	print ".line { stroke: #ccc }"
	printf "%s", light
	print "@media (prefers-color-scheme: dark) {"
	print "text { fill: #ddd }"
	print ".sheet { fill: #161616 }"
	print ".line { stroke: #444 }"
	printf "%s", dark
	print "}"
	print "</style>"
	print "<rect class=\"sheet\" width=\"100%\" height=\"100%\"/>"
}

function text(x, y, class, s) {
	printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, s
}

function put_line(class, x1, y1, x2, y2) {
	printf "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2
}
