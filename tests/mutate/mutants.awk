# SPDX-License-Identifier: MIT
# Makes mutants of a C file: each has one operator, constant, condition, order or statement changed.
#
#	awk -f mutants.awk lib/x.c              lists the mutants, a line each, with tabs between:
#	                                        number, line, function, operator, number among mutants with
#	                                        the same text, the lines before, the lines after
#	awk -v make=7 -f mutants.awk lib/x.c    prints mutant 7 of the file; lines keep their numbers
#
# It relies on the style of this library: binary operators have spaces on both sides, unary ones
# have none behind them, and functions begin in the first column.

BEGIN {
	number_pattern = "^(0[xX][0-9a-fA-F]+([pP][-+]?[0-9]+)?|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]+)?)[uUlLfF]*"
	operator_pattern = "^(<<=|>>=|\\.\\.\\.|->|\\+\\+|--|<<|>>|<=|>=|==|!=|&&|[|][|]|[-+*/%&|^]=|.)"

	pairs("boundary", "< <=  <= <  > >=  >= >")
	pairs("comparison", "< >=  <= >  > <=  >= <  == !=  != ==")
	pairs("logic", "&& ||  || &&")
	pairs("arithmetic", "+ -  - +  * /  / *  % /  << >>  >> <<  & |  | &  ^ |")
	pairs("arithmetic", "+= -=  -= +=  *= /=  /= *=  %= /=  <<= >>=  >>= <<=  &= |=  |= &=  ^= |=")
	split_words(not_statements, "return if for while switch do else case default goto sizeof " \
		"struct union enum const static extern typedef void char int unsigned " \
		"assert reel_yield_point")
}

function pairs(kind, text,   words, n, i) {
	n = split(text, words, " ")
	for (i = 1; i < n; i += 2)
		instead[kind, words[i]] = words[i + 1]
}

function split_words(set, text,   words, n, i) {
	n = split(text, words, " ")
	for (i = 1; i <= n; i++)
		set[words[i]] = 1
}

# --- Tokens: token[i] is in line[where[i]] and begins in column[i].

function is_define(text) {
	return text ~ /^[ \t]*#[ \t]*define[ \t]/
}

function add_token(text, at) {
	token[++tokens] = text
	where[tokens] = NR
	column[tokens] = at
	within[tokens] = function_name
}

# Returns the length of the string or character at the beginning of text.
function quoted_length(text, mark,   i) {
	for (i = 2; i <= length(text) && substr(text, i, 1) != mark; i++)
		if (substr(text, i, 1) == "\\")
			i++
	return i
}

function scan(text, at,   length_) {
	while (text != "") {
		if (in_comment) {
			length_ = index(text, "*/")
			in_comment = !length_
			length_ = length_ ? length_ + 1 : length(text)
		} else if (match(text, /^[ \t\\]+/)) {
			length_ = RLENGTH
		} else if (substr(text, 1, 2) == "/*") {
			in_comment = 1
			length_ = 2
		} else if (substr(text, 1, 2) == "//") {
			return
		} else {
			if (match(text, /^["']/))
				length_ = quoted_length(text, substr(text, 1, 1))
			else if (match(text, /^[A-Za-z_][A-Za-z0-9_]*/) ||
				 match(text, number_pattern) || match(text, operator_pattern))
				length_ = RLENGTH
			add_token(substr(text, 1, length_), at)
		}
		text = substr(text, length_ + 1)
		at += length_
	}
}

{
	line[NR] = $0
	continued = in_directive
	in_directive = /\\$/ && (continued || /^[ \t]*#/)
	if (!continued && /^[ \t]*#/ && !in_comment) {
		defining = is_define($0)
		if (!defining)
			next
		match($0, /define[ \t]+[A-Za-z_0-9]+/)
		function_name = substr($0, RSTART, RLENGTH)
		sub(/define[ \t]+/, "", function_name)
		# Mutants are made of the body of a macro only.
		match($0, /define[ \t]+[A-Za-z_0-9]+(\([^)]*\))?/)
		scan(substr($0, RSTART + RLENGTH), RSTART + RLENGTH)
		next
	}
	if (continued && !defining)
		next
	if (!in_comment && !continued && /^[A-Za-z_].*\(/ && !/;$/) {
		match($0, /[A-Za-z_][A-Za-z_0-9]*\(/)
		function_name = substr($0, RSTART, RLENGTH - 1)
	} else if (!in_comment && !continued && /^[A-Za-z_]/ && !/:$/) {
		function_name = "-"
	}
	scan($0, 1)
}

# --- Mutants: edit[n, k] replaces the characters of one token, or is inserted before it.

function new_mutant(kind, first, last) {
	kind_of[++mutants] = kind
	first_of[mutants] = first
	last_of[mutants] = last
	edits[mutants] = 0
}

function replace(i, text) {
	edit_token[mutants, ++edits[mutants]] = i
	edit_text[mutants, edits[mutants]] = text
}

function one(kind, i, text) {
	new_mutant(kind, i, i)
	replace(i, text)
}

function character(i, offset) {
	return substr(line[where[i]], column[i] + offset, 1)
}

function is_spaced(i) {
	return (column[i] == 1 || character(i, -1) ~ /[ \t]/) && character(i, length(token[i])) ~ /^[ \t]?$/
}

function is_operand(text) {
	return text ~ /^[A-Za-z_0-9.)\]"']/ && text != "return" && text != "case"
}

# Returns true if the condition before the ? at i has a comparison. Its negation is then another mutant already.
function is_compared(i,   depth) {
	while (--i && depth >= 0 && token[i] !~ /^([;{},=?:]|return)$/) {
		depth += (token[i] ~ /^[)\]]$/) - (token[i] ~ /^[(\[]$/)
		if (depth == 0 && token[i] ~ /^(<|<=|>|>=|==|!=)$/)
			return 1
	}
	return 0
}

function mutate_operator(i,   text) {
	text = token[i]
	# No test interrupts a wait by a signal.
	if (token[i + 1] == "EINTR")
		return
	if (text == "++" || text == "--")
		one("arithmetic", i, text == "++" ? "--" : "++")
	if (text ~ /^[-~!]$/ && !is_operand(token[i - 1]) && !is_spaced(i))
		one("sign", i, "")
	if (!is_spaced(i) || !is_operand(token[i - 1]))
		return
	if (("boundary", text) in instead)
		one("boundary", i, instead["boundary", text])
	if (("comparison", text) in instead)
		one("comparison", i, instead["comparison", text])
	if (("logic", text) in instead)
		one("logic", i, instead["logic", text])
	if (("arithmetic", text) in instead)
		one("arithmetic", i, instead["arithmetic", text])
	if (text == "?" && !is_compared(i))
		one("condition", i, "== 0 ?")
}

function mutate_word(i,   text) {
	text = token[i]
	if (text ~ /^memory_order_(acquire|release|acq_rel|seq_cst|consume)$/)
		one("order", i, "memory_order_relaxed")
	else if (text == "true" || text == "false")
		one("constant", i, text == "true" ? "false" : "true")
}

# Returns true for the length of an array or of calloc(): a larger one changes nothing.
function is_length(i) {
	return token[i - 1] == "(" && token[i - 2] == "calloc" ||
		within[i] == "-" && token[i - 1] == "[" && token[i + 1] == "]"
}

function mutate_number(i) {
	if (!is_length(i))
		one("constant", i, "(" token[i] " + 1)")
	if (token[i] !~ /^0[uUlL]*$/)
		one("constant", i, "(" token[i] " - 1)")
}

# Returns the token that closes the parenthesis at i.
function closing(i,   depth) {
	for (; i <= tokens; i++) {
		depth += (token[i] == "(") - (token[i] == ")")
		if (depth == 0)
			return i
	}
	return 0
}

# Makes mutants of the condition in the parentheses at i. If it is one comparison or begins with `!`, its negation is
# another mutant already.
function mutate_condition(i,   end, k, comparisons, connectives) {
	end = closing(i)
	for (k = i; k < end; k++) {
		comparisons += token[k] ~ /^(<|<=|>|>=|==|!=)$/
		connectives += token[k] ~ /^(&&|[|][|])$/
	}
	if (!end || !connectives && (comparisons == 1 || token[i + 1] == "!"))
		return
	new_mutant("condition", i, end)
	replace(i, "(!(")
	replace(end, "))")
}

# Returns true if a statement can begin at token i: behind these tokens, or behind the head of a loop or condition.
function begins_statement(i) {
	return depth_of_parentheses == 0 &&
		(token[i - 1] ~ /^[;{}]$/ || token[i - 1] == "else" || token[i - 1] == "do" ||
		 i - 1 == head_end || i - 1 == label_end)
}

# Returns true if a statement that begins at token i can be removed with an effect. On Linux a mutex or condition of zeros
# works without a call, and holds no resource. Annotations have no effect without a sanitizer.
function is_expression(i) {
	if (token[i] in not_statements || token[i] == "(" && token[i + 1] == "void" ||
	    token[i] ~ /^(pthread_(mutex|cond)_(init|destroy)|sem_destroy|reel_annotate_.*)$/)
		return 0
	if (token[i] ~ /^(\*|\+\+|--|\()$/)
		return 1
	return token[i] ~ /^[A-Za-z_]/ &&
		token[i + 1] ~ /^(\(|\[|->|\.|=|[-+*\/%&|^]=|<<=|>>=|\+\+|--)$/
}

function mutate_statement(i,   k, depth) {
	for (k = i; k <= tokens; k++) {
		depth += (token[k] ~ /^[({[]$/) - (token[k] ~ /^[)}\]]$/)
		if (depth < 0)
			return
		if (depth == 0 && token[k] == ";")
			break
	}
	if (k > tokens)
		return
	new_mutant("statement", i, k)
	while (i < k)
		replace(i++, "")
}

END {
	for (i = 1; i <= tokens; i++) {
		if (token[i] ~ /^(_Static_assert|__attribute__|REEL_ASSERT|REEL_ASSERT_EXPENSIVE)$/)
			i = closing(i + 1) + 1
		if (token[i] ~ /^(if|while|for|switch)$/ && token[i + 1] == "(")
			head_end = closing(i + 1)
		if (begins_statement(i)) {
			if (token[i] ~ /^(break|continue)$/ || token[i] == "return" && token[i + 1] == ";")
				mutate_statement(i)
			else if (is_expression(i))
				mutate_statement(i)
		}
		if (token[i] ~ /^(if|while)$/ && token[i + 1] == "(")
			mutate_condition(i + 1)
		if (token[i] == "case" || token[i] == "default")
			labelled = 1
		if (token[i] == ":" && labelled) {
			label_end = i
			labelled = 0
		}
		depth_of_parentheses += (token[i] == "(") - (token[i] == ")")

		if (token[i] ~ /^\.?[0-9]/)
			mutate_number(i)
		else if (token[i] ~ /^[A-Za-z_]/)
			mutate_word(i)
		else if (token[i] !~ /^["']/)
			mutate_operator(i)
	}
	if (make)
		print_mutant(make + 0)
	else
		for (n = 1; n <= mutants; n++)
			list_mutant(n)
}

# Applies the edits of a mutant. They are in the order of the text, so each line is changed from its end.
function apply(n,   k, i, at) {
	for (k = edits[n]; k > 0; k--) {
		i = edit_token[n, k]
		at = where[i]
		changed[at] = substr(changed[at], 1, column[i] - 1) edit_text[n, k] \
			substr(changed[at], column[i] + length(token[i]))
	}
}

function copy_lines(from, to,   i) {
	for (i = from; i <= to; i++)
		changed[i] = line[i]
}

function print_mutant(n,   i) {
	copy_lines(1, NR)
	if (n > 0 && n <= mutants)
		apply(n)
	for (i = 1; i <= NR; i++)
		print changed[i]
}

function joined(lines, from, to,   i, text) {
	for (i = from; i <= to; i++)
		text = text " " lines[i]
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	sub(/ $/, "", text)
	return text
}

function list_mutant(n,   from, to, before, after, same) {
	from = where[first_of[n]]
	to = where[last_of[n]]
	copy_lines(from, to)
	apply(n)
	before = joined(line, from, to)
	after = joined(changed, from, to)
	same = ++seen[within[first_of[n]], kind_of[n], before, after]
	printf "%d\t%d\t%s\t%s\t%d\t%s\t%s\n", n, from, within[first_of[n]], kind_of[n], same, before, after
}
