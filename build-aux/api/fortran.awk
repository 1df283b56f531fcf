# SPDX-License-Identifier: MIT
# Writes a Fortran module from its template.
#
#	awk -f fortran.awk reel.f90.in
#
# Lines between "!each NAME WORD..." and "!end" are written once for each word, in which {NAME} is the word.
# "!each NAME,OTHER WORD,TEXT..." has a text for {OTHER}, too. {type:real8} is the type in variants for real8.

BEGIN {
	type["integer4"] = "integer(c_int32_t)"
	type["integer8"] = "integer(c_int64_t)"
	type["real4"] = "real(c_float)"
	type["real8"] = "real(c_double)"
	type["complex4"] = "complex(c_float_complex)"
	type["complex8"] = "complex(c_double_complex)"
	type["logical4"] = "logical(int32)"
	type["logical8"] = "logical(int64)"
	type["bool"] = "logical(c_bool)"
}

function substituted(line,   name) {
	while (match(line, /\{[a-z]+\}/)) {
		name = substr(line, RSTART + 1, RLENGTH - 2)
		line = substr(line, 1, RSTART - 1) word[name] substr(line, RSTART + RLENGTH)
	}
	while (match(line, /\{type:[a-z0-9]+\}/)) {
		name = substr(line, RSTART + 6, RLENGTH - 7)
		line = substr(line, 1, RSTART - 1) type[name] substr(line, RSTART + RLENGTH)
	}
	return line
}

# Writes the lines from `first` to the one before "!end" of its block, whose number it returns.
function expand(first,   i, k, w, end, words, names, values, count) {
	for (i = first; i <= NR && lines[i] !~ /^!end$/; i++) {
		if (lines[i] !~ /^!each /) {
			print substituted(lines[i])
			continue
		}
		w = split(lines[i], words, " ")
		count = split(words[2], names, ",")
		for (k = 3; k <= w; k++) {
			split(words[k], values, ",")
			for (end = 1; end <= count; end++)
				word[names[end]] = values[end]
			end = expand(i + 1)
		}
		i = end
	}
	return i
}

{ lines[NR] = $0 }
END { expand(1) }
