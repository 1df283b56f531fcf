# SPDX-License-Identifier: MIT
# Reads the lists of figures of headers, for declarations.awk and for doc/reference/headers.awk. A list is a macro
# STRUCT_FIGURES(X) whose lines are X(type, name, text) or, for each tier, X_TIERS(type, name, text), or another list.
#
#	figures[list]        its members, "uint64_t stalls; /* pushes that waited */", a line each
#	with_figures(text)   the text with members in the place of STRUCT_FIGURES(REEL_FIGURE_MEMBER). Called
#	                     after all headers are read, because a list may be in any header

function read_figure(line,   type, name, text) {
	if (match(line, /REEL_[A-Z_]+_FIGURES/))
		return substr(line, RSTART, RLENGTH) "(REEL_FIGURE_MEMBER)"
	if (!match(line, /X(_TIERS)?\([a-z0-9_]+, [a-z0-9_]+/))
		return ""
	text = name = type = substr(line, RSTART, RLENGTH)
	gsub(/^X[_A-Z]*\(|,.*/, "", type)
	sub(/.*, /, "", name)
	if (text ~ /^X_TIERS/)
		name = name "[REEL_MAX_TIERS]"
	text = line
	gsub(/^[^"]*"|"[^"]*$/, "", text)
	return type " " name "; /* " text " */"
}

function with_figures(text,   list) {
	while (match(text, /[ \t]*REEL_[A-Z_]+_FIGURES\(REEL_FIGURE_MEMBER[^)]*\)/)) {
		list = substr(text, RSTART, RLENGTH)
		gsub(/^[ \t]*|\(.*/, "", list)
		if (!(list in figures)) {
			print "figures.awk: no header has the list " list >"/dev/stderr"
			exit 1
		}
		text = substr(text, 1, RSTART - 1) figures[list] substr(text, RSTART + RLENGTH)
	}
	return text
}

/^#define REEL_[A-Z_]+_FIGURES\(X/ {
	figures_name = $2
	sub(/\(.*/, "", figures_name)
}
figures_name != "" {
	figure = $0 ~ /^#/ ? "" : read_figure($0)
	if (figure != "" && figures[figures_name] != "")
		figure = "\n        " figure
	else if (figure != "")
		figure = "        " figure
	figures[figures_name] = figures[figures_name] figure
	if ($0 !~ /\\$/)
		figures_name = ""
}
