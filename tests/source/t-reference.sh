#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public name has a page of the manual, and each page is right in itself.
. "$SOURCE_DIR/tests/tap/tap.sh"

manual=$BUILD_DIR/doc/man
[ -f "$manual/names" ] || skip_all 'the manual is not made: make doc/man/names'

headers=
for path in "$SOURCE_DIR"/include/reel/*.*h; do
	[ "${path##*/}" != mpi.h ] || grep -q '^mpi_headers = ' "$BUILD_DIR/Makefile" || continue
	headers="$headers $path"
done

# The names in declarations, which begin at the start of a line, and enumerators; and those of functions
# and prototypes in comments. A section whose name begins with Within is not public.
is_within='/^\/\* ---- Within/,/^\/\* ---- [^W]/'
name='\<(reel|REEL)_[A-Za-z0-9_]+\>'
for path in $headers; do
	sed "${is_within}d" "$path" >>public
	sed -n "${is_within}p" "$path" >>within
done
declared='^[A-Za-z#}]|^	REEL_[A-Z0-9_]+[ ,=]|^	REEL_[A-Z0-9_]+$'
grep -E "$declared" public | grep -vE '^#if|^#inc|_C?U?H$' | grep -oE "$name" | sort -u >declared
grep -E '^[A-Za-z#}]|^	struct' within | grep -oE "$name" | sort -u | comm -23 declared - >names
{
	grep -E '^ \*|/\*' public | grep -oE "$name\\(\\)"
	grep -E '^ \* [a-zA-Z_ ]*\*?(reel|REEL)_[A-Za-z0-9_]*\(.*' public | grep -oE "$name\\("
} | tr -d '()' | sort -u names - >public-names
[ "$(wc -l <public-names)" -gt 450 ]
ok $? "$(wc -l <public-names) public names"

ls "$manual/man3" | sed 's/\.3$//' | sort >pages
comm -23 public-names pages >missing
is_empty missing 'each of them has a page'
cat $headers | grep -oE "$name" | sort -u | comm -13 - pages >extra
is_empty extra 'each page is that of a name'

cd "$manual" || exit
work=$OLDPWD
# A link's target is a page, and has the name, or that of the macro that calls this function.
awk '/^\.so / { link[FILENAME] = $2; next }
	{ text[FILENAME] = text[FILENAME] $0 "\n" }
	END {
		for (page in link) {
			name = page
			gsub(/^.*\/|(_at)?\.3$/, "", name)
			if (!index(text[link[page]], name))
				print page
		}
	}' man3/* man7/* >"$work/wrong"
is_empty "$work/wrong" 'each link is to a page that has the name'

# Each page that another one names, by .Xr NAME SECTION.
cat man[137]/* | sed -n 's/^\.\(It \)\{0,1\}\(Pq see \)\{0,1\}Xr \(( \)*//p' | sed 's/ , Xr /\n/g' |
	awk '{ gsub(/\\-/, "-", $1); print "man" $2 "/" $1 "." $2 }' | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 200 ]
ok $? 'pages name others'
ls man*/* | sort >"$work/pages"
comm -23 "$work/named" "$work/pages" >"$work/missing"
is_empty "$work/missing" 'each of these is there'

for page in man7/reel-*.7; do
	[ "$page" = man7/reel-mpi.7 ] || grep -q "Xr $(basename "$page" .7 | sed 's/-/\\\\-/g') 7" man7/reel.7 || echo "$page"
done >"$work/missing"
is_empty "$work/missing" 'reel(7) names each overview'

# The variables that the libraries, the drop-ins and the verifier read.
(cd "$SOURCE_DIR" && grep -rhoE '\("REEL_[A-Z_]+"' lib omp mpi dropin) | grep -oE 'REEL_[A-Z_]+' | sort -u >"$work/read"
grep -oE 'Ev REEL_[A-Z_]+' man7/reel-environment.7 | sed 's/Ev //' | sort -u >"$work/told"
diff "$work/read" "$work/told" >"$work/difference"
is_empty "$work/difference" 'reel-environment(7) tells of the variables that are read'

# What the command says of itself is what its page says.
if [ -x "$BUILD_DIR/tools/reel" ]; then
	for verb in '' info plan; do
		"$BUILD_DIR/tools/reel" $verb --help
	done | sed -e '/^$/d' -e 's/-/\\-/g' >"$work/help"
	sed 's/^\\&//' man1/reel.1 >"$work/page"
	grep -vFxf "$work/page" "$work/help" >"$work/missing"
	is_empty "$work/missing" 'reel(1) has each line of --help'
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
