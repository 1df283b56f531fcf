# SPDX-License-Identifier: MIT
# Writes the groups of headers.awk as pages in mdoc(7): `directory`/man3 for the groups, with a link
# for each further name, and `directory`/man7 for the headers. `directory`/names lists all names:
# name, page, section of the manual, and a line that describes the page.

# ---- Words ----

function escaped(s) {
	gsub(/\\/, "\\e", s)
	return s
}

# Returns the text so that mandoc does not take it for a request.
function text_line(s) {
	return (s ~ /^[.']/ ? "\\&" : "") s
}

function put(line) {
	print line >file
}

# Writes the words that are collected in `pending`. Each line of the page ends with a sentence or at a macro.
function flush_words() {
	if (pending != "")
		put(text_line(pending))
	pending = ""
}

function put_macro(macro, before, argument, after,   i, line) {
	flush_words()
	line = "." macro
	for (i = 1; i <= length(before); i++)
		line = line " " substr(before, i, 1)
	line = line " " argument
	for (i = 1; i <= length(after); i++)
		line = line " " substr(after, i, 1)
	put(line)
}

function put_word(word) {
	word = escaped(word)
	if (word ~ /^[("]*-E[A-Z]/)
		sub(/-/, "\\-", word)
	pending = pending (pending == "" ? "" : " ") word
	if (word ~ /[.?!][)"]*$/ || length(pending) > 70)
		flush_words()
}

# Writes a word: a name() as a cross-reference, a `name` as code, any other word as text.
function put_token(word,   before, after, core) {
	match(word, /^[(["]*/)
	before = substr(word, 1, RLENGTH)
	core = substr(word, RLENGTH + 1)
	match(core, /[]).,;:?!"]*$/)
	after = substr(core, RSTART)
	core = substr(core, 1, RSTART - 1)
	if (core ~ /^(reel|REEL)_[A-Za-z0-9_]+\($/ && after ~ /^\)/) {
		core = substr(core, 1, length(core) - 1)
		after = substr(after, 2)
		if (after before ~ /"/)
			put_word(word)
		else if (core in owner && owner[core] != current)
			put_macro("Xr", before, core " 3", after)
		else
			put_macro("Fn", before, core, after)
	} else if (core ~ /^`[A-Za-z0-9_.>-]+`$/ && after before !~ /"/) {
		put_macro("Fa", before, escaped(substr(core, 2, length(core) - 2)), after)
	} else {
		put_word(word)
	}
}

function put_words(s,   words, n, i) {
	n = split(s, words, " ")
	for (i = 1; i <= n; i++)
		put_token(words[i])
	flush_words()
}

# ---- Paragraphs ----

function indent_of(line) {
	match(line, /^ */)
	return RLENGTH
}

# Writes a paragraph. One to three words in front of it are its heading: "Threads. A tape belongs to ..."
function put_paragraph(s, may_have_heading) {
	if (may_have_heading && match(s, /^[A-Z][A-Za-z]*( [a-z]+( [a-z]+)?)?\. /)) {
		put(".Sy " substr(s, 1, RLENGTH - 2) " .")
		s = substr(s, RLENGTH + 1)
	}
	put_words(s)
}

function put_literal(lines, first, last, offset,   i, least, line) {
	least = 999
	for (i = first; i <= last; i++)
		if (lines[i] != "" && indent_of(lines[i]) < least)
			least = indent_of(lines[i])
	put(".Bd -literal" offset)
	for (i = first; i <= last; i++) {
		line = escaped(substr(lines[i], least + 1))
		gsub(/-/, "\\-", line)
		put(text_line(line))
	}
	put(".Ed")
}

# Returns the column behind which the text of an item begins, after two spaces or the name of an error, or 0 if the line is
# no item.
function item_text(line) {
	if (match(line, /^ *[^ ]+( [^ ]+)*  +/) || match(line, /^ *-E[A-Z0-9]+ +/))
		return substr(line, RLENGTH + 1) ~ /   / ? 0 : RLENGTH
	return 0
}

# Returns true if the lines are items "term  text", with further lines of a text below it.
function are_items(lines, first, last, base,   i, column) {
	for (i = first; i <= last; i++) {
		if (lines[i] == "")
			continue
		if (indent_of(lines[i]) == base) {
			if (!(column = item_text(lines[i])))
				return 0
		} else if (indent_of(lines[i]) < column - 4 || item_text(lines[i])) {
			return 0
		}
	}
	return 1
}

function put_items(lines, first, last, base,   i, at, term, body) {
	put(".Bl -tag -width Ds")
	for (i = first; i <= last; i++) {
		if (lines[i] == "")
			continue
		if (indent_of(lines[i]) > base) {
			body = body " " substr(lines[i], indent_of(lines[i]) + 1)
			continue
		}
		at = item_text(lines[i])
		if (term !~ /,$/) {
			put_item(term, body)
			term = body = ""
		}
		term = term (term == "" ? "" : " ") substr(lines[i], base + 1, at - base)
		sub(/ +$/, "", term)
		body = body " " substr(lines[i], at + 1)
	}
	put_item(term, body)
	put(".El")
}

function put_item(term, body) {
	if (term == "")
		return
	sub(/^-/, "\\-", term)
	put(".It " term)
	put_words(body)
}

function put_dashes(lines, first, last, base,   i, body) {
	put(".Bl -dash")
	for (i = first; i <= last + 1; i++) {
		if (i > last || indent_of(lines[i]) == base) {
			if (body != "")
				put_words(body)
			if (i > last)
				break
			put(".It")
			body = substr(lines[i], base + 2)
		} else {
			body = body " " lines[i]
		}
	}
	put(".El")
}

function put_indented(lines, first, last,   i, base) {
	base = 999
	for (i = first; i <= last; i++)
		if (lines[i] != "" && indent_of(lines[i]) < base)
			base = indent_of(lines[i])
	if (base < 6 && substr(lines[first], base + 1, 2) == "- ")
		put_dashes(lines, first, last, base)
	else if (base < 6 && are_items(lines, first, last, base))
		put_items(lines, first, last, base)
	else
		put_literal(lines, first, last, " -offset indent")
}

# Writes a comment without the prototypes at its beginning, which are in the synopsis.
function put_text(s, is_header,   lines, n, i, last, paragraph, begun) {
	n = split(s, lines, "\n")
	for (i = 1; i <= n; i = last + 1) {
		last = i
		if (lines[i] == "")
			continue
		if (is_prototype(lines[i]) || indent_of(lines[i])) {
			last = end_of_block(lines, i, n, is_prototype(lines[i]))
			if (is_prototype(lines[i]) && (!begun || last >= n))
				continue
			if (is_prototype(lines[i]))
				put_literal(lines, i, last, "")
			else
				put_indented(lines, i, last)
			begun = 1
			continue
		}
		paragraph = lines[i]
		while (last < n && lines[last + 1] != "" && !indent_of(lines[last + 1]))
			paragraph = paragraph " " lines[++last]
		if (begun)
			put(".Pp")
		put_paragraph(paragraph, is_header)
		begun = 1
	}
}

# Returns the last line of a block that begins at line i: prototypes end at an empty line, and an indented block at a line
# that is not indented.
function end_of_block(lines, i, n, is_one) {
	if (is_one) {
		while (i < n && lines[i + 1] != "")
			i++
		return i
	}
	while (i < n && (indent_of(lines[i + 1]) ||
			 (lines[i + 1] == "" && i + 1 < n && indent_of(lines[i + 2]))))
		i++
	return i
}

# ---- Pages ----

# Returns the first sentence as a line of whatis(1).
function summary(s,   at) {
	gsub(/\n/, " ", s)
	gsub(/  +/, " ", s)
	gsub(/`/, "", s)
	if (at = match(s, /[.!?]( |$)/))
		s = substr(s, 1, at - 1)
	if (length(s) > 75 && (at = match(s, /[:;] /)) > 20)
		s = substr(s, 1, at - 1)
	if (length(s) > 90 && (at = match(s, /, /)) > 20)
		s = substr(s, 1, at - 1)
	# A text that is cut off inside of a parenthesis ends before the parenthesis.
	if (match(s, /\([^)]*$/))
		s = substr(s, 1, RSTART - 1)
	sub(/[ :;,.]+$/, "", s)
	if (s ~ /^[A-Z][^A-Z]/)
		s = tolower(substr(s, 1, 1)) substr(s, 2)
	return s
}

# Returns the first paragraph of a comment that is no prototype.
function description(g,   lines, n, i, s) {
	n = split(text[g], lines, "\n")
	for (i = 1; i <= n; i++) {
		if (is_prototype(lines[i])) {
			while (i < n && lines[i + 1] != "")
				i++
			if (s != "")
				break
			continue
		}
		if ((lines[i] == "" || indent_of(lines[i])) && s != "")
			break
		s = s (s == "" ? "" : " ") lines[i]
	}
	return s
}

function page_of(g) {
	return g ~ /^[0-9]+$/ ? first_name(g) : g
}

# Returns the name of a page: the first name of the group that is not inside a struct or an enum.
function first_name(g,   list, n, i) {
	n = split(names[g], list, " ")
	for (i = 1; i < n && hidden_name[list[i]]; i++)
		;
	return list[i]
}

function put_heading(name, manual_section) {
	put(".Dd " date)
	put(".Dt " toupper(name) " " manual_section)
	put(".Os Reel " version)
	put(".Sh NAME")
}

# Fills `list` with the names at the beginning of the page of a group.
function shown_names(g, list,   all, n, i, last) {
	n = split(names[g], all, " ")
	list[last = 1] = first_name(g)
	for (i = 1; i <= n; i++)
		if (all[i] != list[1] && !hidden_name[all[i]] && !is_sited(all[i]))
			list[++last] = all[i]
	return last
}

function put_names(g,   list, n, i) {
	n = shown_names(g, list)
	for (i = 1; i <= n; i++)
		put(".Nm " list[i] (i < n ? " ," : ""))
}

# Returns true for a function that a macro calls with the place of the call, such as reel_mpi_send_at().
function is_sited(name,   plain) {
	plain = name
	return sub(/_at$/, "", plain) && plain in is_macro
}

function put_synopsis(h, prototypes, declarations,   lines, n) {
	put(".Sh SYNOPSIS")
	put(".In " header[h])
	n = split(prototypes (prototypes != "" ? "\n" : "") declarations, lines, "\n")
	while (n > 0 && lines[n] == "")
		n--
	if (n > 0)
		put_literal(lines, 1, n, "")
	put(".Pp")
	put(".Dl cc " (package_of[h] == "reel-omp" ? "\\-fopenmp " : "") \
	    "program.c $(pkg\\-config \\-\\-cflags \\-\\-libs " package_of[h] ")")
}

# Returns the prototypes in the comment of a group.
function prototypes(g,   lines, n, i, s) {
	n = split(text[g], lines, "\n")
	for (i = 1; i <= n; i++)
		if (is_prototype(lines[i]))
			for (; i <= n && lines[i] != ""; i++)
				s = s lines[i] "\n"
	return s
}

# Returns the declarations of a group, without functions that macros call with the place of the call.
function declarations(g,   lines, n, i, s, name) {
	n = split(code[g], lines, "\n")
	for (i = 1; i < n; i++) {
		if (match(lines[i], /^[A-Za-z].*[ *]reel_[a-z0-9_]+_at\(/)) {
			name = substr(lines[i], 1, RLENGTH - 1)
			sub(/^.*[ *]/, "", name)
			if (is_sited(name)) {
				while (i < n && lines[i] !~ /;$/)
					i++
				continue
			}
		}
		if (lines[i] != "" || s !~ /(^|\n\n)$/)
			s = s lines[i] "\n"
	}
	return s
}

# Sorts list[1] to list[n] as words.
function sort(list, n,   i, j, x) {
	for (i = 2; i <= n; i++) {
		x = list[i]
		for (j = i; j > 1 && tolower(list[j - 1]) > tolower(x); j--)
			list[j] = list[j - 1]
		list[j] = x
	}
}

# Writes references to the other groups of the header.
function put_see_also(g, h,   i, n, list) {
	for (i = 1; i <= group_count; i++)
		if (group_header[i] == h && i != g)
			list[++n] = first_name(i)
	sort(list, n)
	put(".Sh SEE ALSO")
	for (i = 1; i <= n; i++)
		put(".Xr " list[i] " 3 ,")
	put(".Xr reel 7 ,")
	put(".Xr " h " 7")
}

function put_group(g,   h) {
	h = group_header[g]
	current = g
	file = directory "/man3/" first_name(g) ".3"
	put_heading(first_name(g), 3)
	put_names(g)
	put(".Nd " text_line(escaped(line_of[g])))
	put_synopsis(h, prototypes(g), declarations(g))
	put(".Sh DESCRIPTION")
	put_text(text[g], 0)
	put_see_also(g, h)
	close(file)
}

function put_contents(h,   i, last) {
	put(".Sh CONTENTS")
	last = "-"
	for (i = 1; i <= group_count; i++) {
		if (group_header[i] != h)
			continue
		if (title[i] != last) {
			if (last != "-")
				put(".El")
			if (title[i] != "")
				put(".Ss " title[i])
			put(".Bl -tag -width Ds")
			last = title[i]
		}
		put_entry(i)
	}
	if (last != "-")
		put(".El")
}

function put_entry(g,   list, n, i, item) {
	n = shown_names(g, list)
	for (i = 1; i <= n; i++)
		item = item (i > 1 ? " , " : "") "Xr " list[i] " 3"
	put(".It " item)
	put_words(line_of[g])
}

function put_header(h,   i) {
	current = h
	file = directory "/man7/" h ".7"
	put_heading(h, 7)
	put(".Nm " h)
	put(".Nd " text_line(escaped(line_of[h])))
	put_synopsis(h, "", code[h])
	put(".Sh DESCRIPTION")
	put_text(text[h], 1)
	put_contents(h)
	put(".Sh SEE ALSO")
	put(".Xr reel 7")
	close(file)
}

function put_links(   name, g, page) {
	for (name in owner) {
		g = owner[name]
		page = page_of(g)
		print name, page, g in header ? 7 : 3, header[g in header ? g : group_header[g]] \
			"\t" line_of[g] >(directory "/names")
		if (name == page)
			continue
		file = directory "/man3/" name ".3"
		put(".so man" (g in header ? 7 : 3) "/" page (g in header ? ".7" : ".3"))
		close(file)
	}
}

# Moves the names of a group whose comment is "See reel_x() ..." to the page of reel_x().
function move_seen(   g, name, other) {
	for (g = 1; g <= group_count; g++) {
		if (text[g] !~ /^See reel_[a-z_]+\(\)/)
			continue
		other = substr(text[g], 5, index(text[g], "(") - 5)
		for (name in owner)
			if (owner[name] == g)
				owner[name] = owner[other]
		code[owner[other]] = code[g] "\n" code[owner[other]]
		names[owner[other]] = names[owner[other]] " " names[g]
		delete group_header[g]
	}
}

# Returns true if the header has a page. Headers without groups and without names of their own have none.
function has_page(h,   g) {
	if (names[h] != "" || text[h] == "")
		return text[h] != ""
	for (g in group_header)
		if (group_header[g] == h)
			return 1
	return 0
}

# Moves functions that macros call with the place of the call to the page of the macro.
function move_sited(   name, plain) {
	for (name in owner)
		if (is_sited(name)) {
			plain = name
			sub(/_at$/, "", plain)
			owner[name] = owner[plain]
		}
	for (name in forward)
		if (!(name in owner))
			owner[name] = forward[name]
}

END {
	move_sited()
	move_seen()
	for (g = 1; g <= group_count; g++)
		if (g in group_header)
			line_of[g] = summary(description(g))
	for (i = 1; i <= header_count; i++)
		line_of[headers[i]] = summary(description(headers[i]))
	for (g = 1; g <= group_count; g++)
		if (g in group_header)
			put_group(g)
	for (i = 1; i <= header_count; i++)
		if (has_page(headers[i]))
			put_header(headers[i])
	put_links()
}
