# SPDX-License-Identifier: MIT
# Writes the library as a few files, for programs that compile it themselves.
#
#	awk -v source=. -v folder=. -v version=1.2.3 -f amalgamate.awk +FILE INPUT... +FILE INPUT...
#
# Each FILE, below `folder`, gets the inputs that follow it. If an input includes a file of the
# project, this file is inserted, once; if an earlier FILE that is a header has it, that FILE is
# included. Names of two sources in the same FILE do not collide: the macros of a source end with it,
# and the name of its folder and file is added to each static name, tag and enumerator that another
# source also has. The script stops with a message at code that it cannot handle.

function stop(path, why) {
	print "amalgamate.awk: " path ": " why >"/dev/stderr"
	exit 1
}

# Returns the last folder and the name of a file: thread_copy for lib/spill/thread/copy.c.
function short_name(path) {
	gsub(/\.[a-z]+$/, "", path)
	gsub(/[^a-z0-9\/]/, "_", path)
	return match(path, /[^\/]*\/[^\/]*$/) ? replaced(substr(path, RSTART), "/", "_") : path
}

function replaced(text, old, new) {
	gsub(old, new, text)
	return text
}

# ---- Names that several sources have ----

# Returns the name in the first line of a static definition or declaration, or "" without a name.
function static_name(path, line) {
	gsub(/__attribute__\(\([^)]*(\([^)]*\))?\)\)|_Atomic\([^)]*\)|_Alignas\([^)]*\)/, "", line)
	sub(/^(static|inline| )+/, "", line)
	if (line ~ /(struct|union|enum)( [a-z_0-9]+)? \{[ \t]*$/)
		return ""
	sub(/( =|;).*/, "", line)
	sub(/\(\*/, "", line)
	if (line ~ /^[^(]*,/)
		stop(path, "each static variable needs a line of its own: " line)
	sub(/[[(;)].*/, "", line)
	sub(/[ \t]+$/, "", line)
	sub(/.*[^A-Za-z0-9_]/, "", line)
	if (line == "")
		stop(path, "no name found in a static definition")
	return line
}

function note(path, name) {
	if ((path, name) in defines)
		return
	defines[path, name]
	definitions[name]++
}

# Notes the static names, tags and enumerators of a source. A tag has "tag " before it, because a variable or a member may
# have the same name.
function collect(path,   line, start, in_enum, words) {
	while ((getline line < path) > 0) {
		if (start != "" || line ~ /^(__attribute__\(\([^()]*(\([^()]*\))?\)\) )?static /) {
			start = start line
			sub(/^__attribute__\(\([^()]*(\([^()]*\))?\)\) /, "", start)
			if (start ~ /[[(;={]/) {
				if (static_name(path, start) != "")
					note(path, static_name(path, start))
				start = ""
			} else
				start = start " "
		}
		if (line ~ /^\} [a-z_0-9]+(\[[^]]*\])?( =|;)/) {
			split(line, words, /[][ ;]/)
			note(path, words[2])
		}
		in_enum = line ~ /^enum [a-z_ ]*\{/ || (in_enum && line !~ /^\}/)
		if (sub(/^(static |const )*(struct|union|enum) /, "tag ", line) && line ~ /^tag [a-z_0-9]+ \{/)
			note(path, substr(line, 1, index(line, " {") - 1))
		while (in_enum && match(line, /[A-Z][A-Z_0-9]+/)) {
			note(path, substr(line, RSTART, RLENGTH))
			line = substr(line, RSTART + RLENGTH)
		}
	}
	close(path)
}

# Returns the line with the name of the source added to each identifier that several sources define. Strings, comments and
# members, which follow a dot or an arrow, are not changed.
function renamed(line, path,   done, token, key, kind) {
	while (line != "") {
		if (in_comment) {
			if (!match(line, /\*\//))
				return done line
			in_comment = 0
			done = done substr(line, 1, RSTART + 1)
			line = substr(line, RSTART + 2)
		}
		if (!match(line, /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'|\/\*|[A-Za-z_0-9]+/))
			return done line
		token = substr(line, RSTART, RLENGTH)
		done = done substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		in_comment = token == "/*"
		key = kind token
		if (((path, key) in defines) && definitions[key] > 1 && done !~ /([^.]\.|->)$/)
			token = token "_in_" short_name(path)
		kind = token ~ /^(struct|union|enum)$/ && line ~ /^ / ? "tag " : ""
		done = done token
	}
	return done
}

# ---- Files ----

# Returns true if the file exists, and notes whether it has a guard. Reads a file only at the first call, so put() is not
# reading it at the same time.
function exists(path,   line, status) {
	if (!(path in is_there)) {
		while ((status = (getline line < path)) > 0)
			if (line ~ /^#ifndef REEL[A-Z0-9_]*_H$/)
				has_guard[path]
		is_there[path] = status == 0
		close(path)
	}
	return is_there[path]
}

# Returns the path of the file `name` that a file of the folder `here` includes, or "" if the project has none.
function found(name, is_quoted, here,   path, i) {
	for (i = is_quoted ? 1 : 4; i <= 4; i++) {
		path = i == 1 ? here "/" name : source (i == 2 ? "/lib/" : i == 3 ? "/" : "/include/") name
		while (sub(/[^\/]+\/\.\.\//, "", path))
			continue
		if (exists(path))
			return path
	}
	return ""
}

# Inserts a file of the project, or includes the FILE that has it. A file that is included under a condition may be
# inserted again elsewhere. A file without a guard is a part of the source, and is inserted each time.
function include(path, unit, is_conditional,   what) {
	if (!(path in has_guard)) {
		if (!unit)
			stop(path, "has no guard (#ifndef REEL_..._H)")
		put(path, unit, is_conditional)
		return
	}
	what = path in home ? home[path] : path
	if (what == output || ((output, what) in has))
		return
	if (!is_conditional)
		has[output, what]
	if (what != path)
		print "#include \"" what "\"" >(folder "/" output)
	else {
		if (output ~ /\.h$/)
			home[path] = output
		put(path, "", is_conditional)
	}
}

# Writes a file. `unit` is the path of the source, also for a file that is a part of the source; "" for a header, whose
# guard does not count as a condition.
function put(path, unit, is_conditional,   line, here, other, conditions, macros, count, i, words) {
	here = replaced(path, "/[^/]*$", "")
	conditions = unit ? 0 : -1
	if (unit == path)
		print "\n/* ---- " substr(path, length(source) + 2) " ---- */\n" >(folder "/" output)
	while ((getline line < path) > 0) {
		if (line ~ /^\/\* SPDX-License-Identifier/ || line ~ /^#[ \t]*include "config.h"/)
			continue
		conditions += line ~ /^#[ \t]*if/
		conditions -= line ~ /^#[ \t]*endif/
		if (line ~ /^#[ \t]*include / && path !~ /\.in$/) {
			if (split(line, words, /[<">]/) < 3)
				stop(path, "not the name of a file: " line)
			other = found(words[2], line ~ /"/, here)
			if (other != "") {
				include(other, unit, conditions || is_conditional)
				continue
			}
			if (line ~ /"/ || words[2] ~ /^reel/)
				stop(path, "no such file: " line)
		}
		if (unit && line ~ /^#[ \t]*define [A-Za-z]/) {
			match(line, /define [A-Za-z0-9_]+/)
			macros[count++] = substr(line, RSTART + 7, RLENGTH - 7)
		}
		gsub(/@VERSION@/, version, line)
		if (line ~ /@LICENSE@/)
			put_licence()
		else
			print (unit ? renamed(line, unit) : line) >(folder "/" output)
	}
	close(path)
	for (i = 0; i < count; i++)
		print "#undef " macros[i] >(folder "/" output)
}

function put_licence(   line) {
	while ((getline line < (source "/LICENSE")) > 0)
		print (line == "" ? " *" : " * " line) >(folder "/" output)
	close(source "/LICENSE")
}

BEGIN {
	for (i = 1; i < ARGC; i++) {
		path = source "/" ARGV[i]
		if (ARGV[i] !~ /\.c$/ || ARGV[i] ~ /^\+/)
			continue
		if (short_name(path) in is_taken)
			stop(path, "its folder and name are those of another source")
		is_taken[short_name(path)]
		collect(path)
	}
	for (i = 1; i < ARGC; i++) {
		path = source "/" ARGV[i]
		if (ARGV[i] ~ /^\+/) {
			output = substr(ARGV[i], 2)
			print "/* SPDX-License-Identifier: MIT */" >(folder "/" output)
		} else if (!exists(path))
			stop(path, "no such file")
		else if (path ~ /\.(c|in)$/)
			put(path, path ~ /\.c$/ ? path : "", 0)
		else if (output ~ /\.h$/)
			include(path, "", 0)
	}
}
