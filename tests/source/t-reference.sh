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

# The names in declarations, which begin at the start of a line, enumerators, and the functions that a
# comment names. A section whose name begins with Within is not public.
is_within='/^\/\* ---- Within/,/^\/\* ---- [^W]/'
name='\<(reel|REEL)_[A-Za-z0-9_]+\>'
for path in $headers; do
	sed "${is_within}d" "$path" >"public"
	grep -E '^[A-Za-z#}]|^	REEL_[A-Z0-9_]+[ ,=]|^	REEL_[A-Z0-9_]+$' public | grep -v '^#if\|^#inc\|_H$\|_CUH$' | grep -oE "$name"
	grep -oE "$name\\(\\)" public | tr -d '()'
	grep -E '^ \* [a-zA-Z_ ]*\*?reel_[a-z0-9_]*\(.*' public | grep -oE "$name\\(" | tr -d '('
done | sort -u >used
for path in $headers; do
	sed -n "${is_within}p" "$path" | grep -E '^[A-Za-z#}]|^	struct' | grep -oE "$name"
done | sort -u >within
comm -23 used within >public
[ "$(wc -l <public)" -gt 450 ]
ok $? "$(wc -l <public) public names"

while read -r name; do
	[ -s "$manual/man3/$name.3" ] || echo "$name"
done <public >missing
is_empty missing 'each of them has a page'

for page in "$manual"/man3/*; do
	name=${page##*/}
	name=${name%.3}
	grep -qw -- "$name" $headers || echo "$name"
done >extra
is_empty extra 'each page is that of a name'

cd "$manual" || exit
work=$OLDPWD
grep -l '^\.so ' man3/* >"$work/links"
while read -r link; do
	target=$(sed -n 's/^\.so //p' "$link")
	name=${link##*/}
	name=${name%.3}
	[ -f "$target" ] && ! grep -q '^\.so ' "$target" && grep -qwe "$name" -e "${name%_at}" "$target" || echo "$link"
done <"$work/links" >"$work/wrong"
is_empty "$work/wrong" "$(wc -l <"$work/links") links, each to a page that has the name"

# Each page that another one names, by .Xr NAME SECTION.
cat man[137]/* | sed -n 's/^\.\(It \)\{0,1\}\(Pq see \)\{0,1\}Xr \(( \)*//p' | sed 's/ , Xr /\n/g' |
	awk '{ gsub(/\\-/, "-", $1); print "man" $2 "/" $1 "." $2 }' | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 200 ]
ok $? 'pages name others'
while read -r page; do
	[ -f "$page" ] || echo "$page"
done <"$work/named" >"$work/missing"
is_empty "$work/missing" 'each of these is there'

for page in man7/reel-*.7; do
	[ "$page" = man7/reel-mpi.7 ] || grep -q "Xr $(basename "$page" .7 | sed 's/-/\\\\-/g') 7" man7/reel.7 || echo "$page"
done >"$work/missing"
is_empty "$work/missing" 'reel(7) names each overview'

if command -v mandoc >/dev/null; then
	mandoc -Tlint -W warning man1/* man7/* $(grep -L '^\.so ' man3/*) >"$work/messages" 2>&1
	is_empty "$work/messages" 'mandoc has nothing to say of a page'
else
	skip 'mandoc is not installed'
fi
cd "$work" || exit
end
