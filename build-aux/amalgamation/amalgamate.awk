# SPDX-License-Identifier: MIT
# Writes reel.h and reel.c, which hold the whole library, for programs that compile it themselves.
#
#	awk -v source=. -v folder=. -v version=1.2.3 -f amalgamate.awk HEADER... prologue.in SOURCE...
#
# The headers of programs become reel.h; the prologue, in place of config.h, and the sources become
# reel.c. A file of the project is put in at its first #include, except reel.h. All sources are one
# translation unit; so where several of them have a static function, a macro or a structure of one
# name, the name of the file is added to each.

# ---- Names that several sources have ----

# The identifier that a line of a source defines for this file alone; "" if there is none.
function defined_by(line,   name) {
	if (line ~ /^#[ \t]*define /) {
		sub(/^#[ \t]*define +/, "", line)
		sub(/[^A-Za-z0-9_].*/, "", line)
		return line
	}
	if (line ~ /^\} [a-z_0-9]+(\[[^]]*\])?( =|;)/) {
		split(line, name, /[][ ;]/)
		return name[2]
	}
	if (!sub(/^(__attribute__\(\(.*\)\) )?static /, "", line))
		return ""
	sub(/ = .*/, "", line)
	sub(/__attribute__\(\([^)]*\)\)|_Atomic\([^)]*\)/, "", line)
	sub(/\(\*/, "", line)
	sub(/[[(;{].*/, "", line)
	sub(/[ \t]+$/, "", line)
	sub(/.*[^A-Za-z0-9_]/, "", line)
	return line ~ /^(struct|union|enum)$/ ? "" : line
}

function note(path, name) {
	if (name != "" && !((path, name) in defines)) {
		defines[path, name]
		definitions[name]++
	}
}

# A tag is noted with a word before it, since variables and members may have the same name.
function collect(path,   line, in_enum) {
	while ((getline line < path) > 0) {
		note(path, defined_by(line))
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

# The line, with the name of the file added to each identifier that several sources define. Members,
# which follow a dot or an arrow, keep their names.
function renamed(line, path,   done, name, key, kind) {
	while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
		name = substr(line, RSTART, RLENGTH)
		done = done substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		key = kind name
		if (((path, key) in defines) && definitions[key] > 1 && done !~ /([^.]\.|->|[0-9])$/)
			name = name "_in_" suffix
		kind = name ~ /^(struct|union|enum)$/ && line ~ /^ / ? "tag " : ""
		done = done name
	}
	return done line
}

# ---- Files ----

# The file that a file of the folder `here` includes by this name; "" if it is not of the project.
function found(name, here,   path, line, i) {
	for (i = 1; i <= 3; i++) {
		path = i == 1 ? here "/" name : source (i == 2 ? "/lib/" : "/include/") name
		while (sub(/[^\/]+\/\.\.\//, "", path))
			continue
		if (path in is_there)
			return path
		if ((getline line < path) >= 0) {
			close(path)
			is_there[path]
			return path
		}
	}
	return ""
}

# Writes a file. A file that is included under a condition is put in there, and may be put in again
# elsewhere; a header's guard is no condition. `unit` is the path if it is a source, else "".
function put(path, unit, is_conditional,   line, here, name, other, conditions) {
	is_there[path]
	here = path
	sub(/\/[^\/]*$/, "", here)
	conditions = unit ? 0 : -1
	while ((getline line < path) > 0) {
		if (line ~ /^\/\* SPDX-License-Identifier/ || line ~ /^#[ \t]*include "config.h"/)
			continue
		conditions += line ~ /^#[ \t]*if/
		conditions -= line ~ /^#[ \t]*endif/
		if (line !~ /^#[ \t]*include / || line ~ /"reel\.h"/) {
			gsub(/@VERSION@/, version, line)
			print (unit ? renamed(line, unit) : line) >output
			continue
		}
		name = line
		sub(/^[^<"]*[<"]/, "", name)
		sub(/[>"].*/, "", name)
		other = found(name, here)
		if (other == "")
			print line >output
		else if (!(other in seen)) {
			if (!conditions && !is_conditional)
				seen[other]
			put(other, "", conditions || is_conditional)
		}
	}
	close(path)
}

BEGIN {
	output = folder "/reel.h"
	print "/* SPDX-License-Identifier: MIT */" >output
	for (i = 1; i < ARGC; i++)
		if (ARGV[i] ~ /\.c$/)
			collect(source "/" ARGV[i])
	for (i = 1; i < ARGC; i++) {
		path = source "/" ARGV[i]
		name = path
		sub(/.*\//, "", name)
		if (name ~ /\.in$/)
			output = folder "/reel.c"
		if (path in seen || (name ~ /\.h$/ && output ~ /\.c$/))
			continue
		seen[path]
		if (name ~ /\.c$/)
			printf "\n/* ---- %s ---- */\n\n", name >output
		suffix = name
		gsub(/\.c$/, "", suffix)
		gsub(/[^a-z0-9]/, "_", suffix)
		put(path, name ~ /\.c$/ ? path : "", 0)
	}
}
