#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes static pages of the guide and of the manual, which need no server.
#
#	site.sh SOURCE MANUAL TARGET VERSION
#
# MANUAL is the TARGET of pages.sh. Replaces TARGET: the guide in the folders that its pages have in
# SOURCE, with all files that they link to, and the manual in TARGET/man.
set -e
trap 'status=$?; [ $status -eq 0 ] || echo "site.sh: stopped with status $status" >&2' EXIT

awk=${AWK:-awk}
source=$(cd "$1" && pwd) manual=$(cd "$2" && pwd) target=$3 version=$4

for tool in mandoc lowdown; do
	if ! command -v $tool >/dev/null; then
		echo "make doc needs $tool: install it (Debian: apt-get install $tool)" >&2
		exit 1
	fi
done

rm -rf "$target"
mkdir -p "$target/man"
target=$(cd "$target" && pwd)
reference=$source/doc/reference
cp "$reference/style.css" "$reference/search.js" "$target"
"$awk" -f "$reference/index.awk" -v target="$target" "$manual/names"

# write PAGE TITLE: writes a page with the HTML on stdin as its text.
write() {
	mkdir -p "$target/${1%/*}"
	"$awk" -f "$reference/site.awk" -v page="$1" -v title="$2" -v version="$version" \
		-v names="$manual/names" -v links="$target/links" >"$target/$1"
}

# ---- The manual ----

cd "$manual"
for page in man1/* man7/* $(grep -L '^\.so ' man3/*); do
	name=${page#man?/}
	mandoc -Thtml -O 'fragment,man=%N.%S.html' "$page" |
		write "man/$name.html" "${name%.*}(${name##*.})"
done

# ---- The guide: README.md, doc/, and all files that these link to ----

cd "$source"
printf '%s\n' README.md doc/README.md doc/*.md >"$target/queue"
while [ -s "$target/queue" ]; do
	sort -u "$target/queue" >"$target/round"
	: >"$target/links"
	while read -r path; do
		case $path in
		*.md)
			html=${path%.md}.html
			[ ! -e "$target/$html" ] || continue
			title=$(sed -n 's/^# //p' "$path" | sed 1q)
			case $path in */*) html_page=$html ;; *) html_page=./$html ;; esac
			# lowdown keeps a dot in the anchor of a heading. Links do not have it, because other
			# programs for Markdown drop it.
			lowdown -Thtml "$path" | sed 's/\(<h[1-6] id="[^".]*\)\./\1/' |
				write "$html_page" "${title:-Reel}" ;;
		*)
			mkdir -p "$(dirname "$target/$path")"
			cp "$path" "$target/$path" ;;
		esac
	done <"$target/round"
	while read -r path; do
		[ -f "$path" ] && [ ! -e "$target/$path" ] && [ ! -e "$target/${path%.md}.html" ] && echo "$path"
	done <"$target/links" >"$target/queue" || true
done
write ./names.html 'All names' <"$target/index"
cp "$target/README.html" "$target/index.html"
rm "$target/index" "$target/queue" "$target/round" "$target/links"
