#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that each public name has a page of the manual, that pages are valid mdoc, and that their links lead to pages.
. "$SOURCE_DIR/tests/tap/tap.sh"

manual=$BUILD_DIR/doc/man
[ -f "$manual/names" ] || skip_all 'the manual is not made: make doc/man/names'

# headers_of FOLDER VARIABLE: prints the headers that a variable of FOLDER/local.mk lists.
headers_of() {
	sed -n "/^$2 = /,/[^\\\\]\$/p" "$SOURCE_DIR/$1/local.mk" | grep -oE 'include/reel[^ ]*'
}
core=$(headers_of lib core_headers) omp=$(headers_of omp omp_headers)
mpi=$(headers_of mpi mpi_headers) cuda=$(headers_of gpu gpu_headers)
grep -q 'uint64_t peak_tape_bytes' "$manual/man3/reel_run_stats.3" &&
	grep -q 'uint64_t written_bytes' "$manual/man3/reel_pool_stats.3"
ok $? 'the page of a struct has its figures'
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$BUILD_DIR/config.h")
date=$(sed -n 's/^manual_date = //p' "$SOURCE_DIR/doc/local.mk")

# declared_names HEADER...: prints the names in declarations, which begin at the start of a line, and enumerators. A section
# whose name begins with Within is not public.
is_within='/^\/\* ---- Within/,/^\/\* ---- [^W]/'
name='\<(reel|REEL)_[A-Za-z0-9_]+\>'
declared_names() (
	cd "$SOURCE_DIR" || exit
	sed -s "${is_within}d" "$@" | grep -E '^[A-Za-z#}]|^	REEL_[A-Z0-9_]+[ ,=]|^	REEL_[A-Z0-9_]+$' |
		grep -vE '^#if|^#inc|_C?U?H$' | grep -oE "$name" | sort -u
)

# public_names HEADER...: prints the names that the headers declare, and the names of functions and prototypes in their
# comments, unless a header of another package declares them.
public_names() {
	declared_names "$@" >declared
	declared_names $core $omp $mpi $cuda | comm -13 declared - >of-others
	(cd "$SOURCE_DIR" && sed -n "${is_within}p" "$@") >within
	grep -E '^[A-Za-z#}]|^	struct' within | grep -oE "$name" | sort -u | comm -23 declared - >names
	(cd "$SOURCE_DIR" && sed "${is_within}d" "$@") >public
	{
		grep -E '^ \*|/\*' public | grep -oE "$name\\(\\)"
		grep -E '^ \* [a-zA-Z_ ]*\*?(reel|REEL)_[A-Za-z0-9_]*\(.*' public | grep -oE "$name\\("
	} | tr -d '()' | sort -u names - | comm -23 - of-others
}

# Prints the pages to which pages refer, by .Xr NAME SECTION.
named_pages() {
	cat man[137]/* | sed -n 's/^\.\(It \)\{0,1\}\(Pq see \)\{0,1\}Xr \(( \)*//p' | sed 's/ , Xr /\n/g' |
		awk '{ gsub(/\\-/, "-", $1); print "man" $2 "/" $1 "." $2 }' | sort -u
}

# check_manual MANUAL WHICH HEADER...: checks the pages of these headers.
check_manual() {
	pages=$1 which=$2
	shift 2
	public_names "$@" >public-names
	ls "$pages/man3" | sed 's/\.3$//' | sort >with-page
	comm -23 public-names with-page >missing
	is_empty missing "$which: each of $(wc -l <public-names) public names has a page"
	(cd "$SOURCE_DIR" && cat "$@") | grep -oE "$name" | sort -u | comm -13 - with-page >extra
	is_empty extra "$which: each page is that of a name"

	# The target of a link is a page that has the name, or the name of the macro that calls this function.
	(cd "$pages" && awk '/^\.so / { link[FILENAME] = $2; next }
		{ text[FILENAME] = text[FILENAME] $0 "\n" }
		END {
			for (page in link) {
				name = page
				gsub(/^.*\/|(_at)?\.3$/, "", name)
				if (!index(text[link[page]], name))
					print page
			}
		}' man3/* man7/*) >wrong
	is_empty wrong "$which: each link is to a page that has the name"

	(cd "$pages" && named_pages) >named
	(cd "$pages" && ls man*/*) | sort | comm -23 named - >missing
	is_empty missing "$which: each of $(wc -l <named) pages that others name is there"
	(cd "$pages/man7" && ls reel-*.7 | sed 's/\.7$//; s/-/\\-/g') |
		while read -r page; do grep -qF "Xr $page 7" "$pages/man7/reel.7" || echo "$page"; done >missing
	is_empty missing "$which: reel(7) names each overview"
	grep -lE '^\.\\" (With|End)' "$pages"/man7/* >marked
	is_empty marked "$which: no page shows which lines are of which package"
}

# Makes the manual without each set of packages that an installation may lack.
for parts in '' omp mpi cuda 'omp mpi' 'omp cuda' 'mpi cuda' 'omp mpi cuda'; do
	headers=$core
	set -- package=reel $core
	for part in omp mpi cuda; do
		set -- "$@" "package=reel-$part"
		case " $parts " in *" $part "*) eval "headers=\"\$headers \$$part\"; set -- \"\$@\" \$$part" ;; esac
	done
	folder=$(echo man $parts | tr ' ' -)
	sh "$SOURCE_DIR/doc/reference/pages.sh" "$SOURCE_DIR" "$folder" "$version" "$date" "$@" >messages 2>&1
	is_empty messages "with ${parts:-no other package}: the pages are made"
	check_manual "$folder" "with ${parts:-no other package}" $headers
done
[ "$(wc -l <public-names)" -gt 450 ] && [ "$(wc -l <named)" -gt 200 ]
ok $? "with all packages: more than 450 names, and more than 200 pages are named"

if grep -q '^mpi_headers = ' "$BUILD_DIR/Makefile"; then
	folder=man-omp-mpi-cuda
else
	folder=man-omp-cuda
fi
diff -r "$folder" "$manual" >difference
is_empty difference 'the build makes the pages of its packages'

cd "$manual" || exit
work=$OLDPWD

# Finds the variables that the libraries, the drop-ins, the verifier and the Python package read.
(cd "$SOURCE_DIR" && grep -rhoE '\("REEL_[A-Z_]+"' lib omp mpi dropin python/reel) | grep -oE 'REEL_[A-Z_]+' | sort -u >"$work/read"
grep -oE 'Ev REEL_[A-Z_]+' man7/reel-environment.7 | sed 's/Ev //' | sort -u >"$work/told"
diff "$work/read" "$work/told" >"$work/difference"
is_empty "$work/difference" 'reel-environment(7) tells of the variables that are read'
[ "$(wc -l <"$work/read")" -le 18 ]
ok $? 'at most 18 variables are read'
grep -oE '"REEL_[A-Z_]+"' "$SOURCE_DIR/tools/environment.c" | tr -d '"' | sort -u >"$work/shown"
grep -v '_LIBRARY$' "$work/read" | diff - "$work/shown" >"$work/difference"
is_empty "$work/difference" 'reel info shows those that are read in C'

# Compares the words of the command's help with the words of its pages.
words_of() { sed 's/\\//g' "$1" | tr -cs '[:alnum:]-' '\n' | sort -u; }
if [ -x "$BUILD_DIR/tools/reel" ]; then
	for page in man1/*; do
		verb=${page#man1/reel}
		verb=${verb%.1}
		"$BUILD_DIR/tools/reel" ${verb#-} --help | sed 's/^Usage: //' >"$work/help"
		words_of "$page" >"$work/page"
		words_of "$work/help" | comm -23 - "$work/page" >"$work/missing"
		is_empty "$work/missing" "reel$verb(1) has the words of reel ${verb#-} --help"
		sed -n 's/^  \(--[a-z-]*\).*/\1/p' "$work/help" >"$work/options"
		sed -n 's/^\.It \\-\\-/--/p' "$page" | sed 's/\\//g; s/[ ,].*//' | diff "$work/options" - >"$work/difference"
		is_empty "$work/difference" "reel$verb(1) has an item for each line of an option"
	done
	[ "$(ls man1 | wc -l)" -eq $(($("$BUILD_DIR/tools/reel" --help | grep -c '^  [a-z]') + 1)) ]
	ok $? 'each verb has a page'
else
	skip 'the command reel is not built'
fi

if command -v mandoc >/dev/null; then
	mandoc -Tlint -W warning man1/* man7/* $(grep -L '^\.so ' man3/*) >"$work/messages" 2>&1
	is_empty "$work/messages" 'mandoc has nothing to say of a page'
else
	skip 'mandoc is not installed'
fi
cd "$work" || exit
end
