#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the files of a release, and prints the steps by hand: see the usage below, and HACKING.md.
set -eu -o pipefail
trap 'echo "packaging/release.sh: stopped in line $LINENO" >&2' ERR
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C

usage='Usage: packaging/release.sh [--no-tests] [--trial] | --check | --fill | --list

Checks that all places have the version of configure.ac, the date of CHANGES and the addresses of
packaging/addresses, that nothing is uncommitted and the tag is new. Runs the tests. Then writes to
build/release/ the tarball, which it makes twice and compares, the core as two files, the wheels,
the recipes with the checksum of the tarball, and SHA256SUMS. The last lines are the steps by hand.

  --no-tests  do not run ./check --all and the stages package and wheel
  --trial     make the files of the last commit, also with missing addresses, uncommitted files, or
              the date of another day
  --check     only compare versions, dates and addresses
  --fill      ask for missing addresses; then write the version, the date and the addresses to all
              places
  --list      list the places: name of the value, file, value'

die() {
	printf 'packaging/release.sh: %s\n' "$1" >&2
	exit 1
}

# ---- Values ----

# address KEY: prints the value of an address, or nothing.
address() { sed -n "s/^$1=//p" packaging/addresses; }

addresses=(homepage repository downloads security maintainer handle)
declare -A value
read_values() {
	local key
	value[version]=$(sed -n 's/^AC_INIT(\[reel\], \[\(.*\)\])$/\1/p' configure.ac)
	[[ ${value[version]} =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "configure.ac has no version such as 1.2.3"
	value[date]=$(sed -n '1s/^Reel .* (\(.*\))$/\1/p' CHANGES)
	[[ ${value[date]} =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] && date -d "${value[date]}" >/dev/null ||
		die 'CHANGES does not begin with "Reel VERSION (YYYY-MM-DD)"'
	value[number]=$(echo "${value[version]}" | awk -F . '{ print 10000 * $1 + 100 * $2 + $3 }')
	value[manual_date]=$(date -u -d "${value[date]}" '+%B %-d, %Y')
	value[mail_date]=$(date -u -d "${value[date]}" '+%a, %d %b %Y %H:%M:%S +0000')
	for key in "${addresses[@]}"; do
		value[$key]=$(address $key)
	done
}

# ---- Places ----

# place NAME FILE BEFORE BEHIND [AFTER]: calls `action` for a place, if its folder exists. The first line of FILE that
# matches the regular expressions BEFORE and BEHIND has the value NAME between them. With AFTER, a file without such a line
# gets one behind the line that matches AFTER.
place() { [ ! -d "${2%/*}" ] && [[ $2 == */* ]] || $action "$@"; }

places() {
	place version CHANGES '^Reel ' ' \([^)]*\)$'
	place version CITATION.cff '^version: ' '$'
	place date CITATION.cff '^date-released: ' '$'
	place homepage CITATION.cff '^url: "' '"$' '^license: '
	place repository CITATION.cff '^repository-code: "' '"$' '^license: '
	place number include/reel/version.h '^#define REEL_VERSION ' '$'
	place manual_date doc/local.mk '^manual_date = ' '$'
	place version python/pyproject.toml '^version = "' '"$'
	place homepage python/pyproject.toml '^urls = \{Homepage = "' '"\}$' '^requires-python'
	place security SECURITY.md '^Address for reports: ' '$'
	place version packaging/spack/package.py '^    version\("' '"'
	place homepage packaging/spack/package.py '^    homepage = "' '"$'
	place version packaging/spack/package.py '^    url = ".*/reel-' '\.tar'
	place downloads packaging/spack/package.py '^    url = "' '/reel-'
	place version packaging/conda/meta.yaml '^\{% set version = "' '" %\}$'
	place homepage packaging/conda/meta.yaml '^  home: ' '$'
	place downloads packaging/conda/meta.yaml '^  url: ' '/reel-'
	place repository packaging/conda/meta.yaml '^  dev_url: ' '$' '^  home: '
	place handle packaging/conda/meta.yaml '^  recipe-maintainers: \[' '\]$'
	place homepage packaging/oss-fuzz/project.yaml '^homepage: "' '"$' '^language: '
	place repository packaging/oss-fuzz/project.yaml '^main_repo: "' '"$' '^language: '
	place security packaging/oss-fuzz/project.yaml '^primary_contact: "' '"$' '^language: '
	# debian/ is in a clone, and in no tarball.
	place version debian/changelog '^reel \(' '-[0-9]+\) .*$'
	place maintainer debian/changelog '^ -- ' '  .*$'
	place mail_date debian/changelog '^ -- .*>  ' '$'
	place maintainer debian/control '^Maintainer: ' '$'
	place homepage debian/control '^Homepage: ' '$' '^Standards-Version: '
	place homepage debian/copyright '^Source: ' '$' '^Upstream-Name: '
}

# with_place PROGRAM NAME FILE BEFORE BEHIND [AFTER]: runs a program of awk on FILE. In it, at_place() is true in the
# line of the place, and has set `before`, `old` and `behind` to the three parts of the line.
with_place() {
	local program=$1 line=${4#^}${value[$2]}${5%$}
	VALUE=${value[$2]} BEFORE=$4 BEHIND=$5 AFTER=${6-} LINE=${line//\\/} awk '
	function at_place() {
		if (!match($0, ENVIRON["BEFORE"]))
			return 0
		before = substr($0, 1, RSTART + RLENGTH - 1)
		old = substr($0, RSTART + RLENGTH)
		if (!match(old, ENVIRON["BEHIND"]))
			return 0
		behind = substr(old, RSTART)
		old = substr(old, 1, RSTART - 1)
		return 1
	}
	'"$program" "$3"
}

list_place() { printf '%s\t%s\t%s\n' "$1" "$2" "$(with_place 'at_place() { print old; exit }' "$@")"; }

# compare_place ...: compares a place with its value, if the value is known.
compare_place() {
	local found
	[ -n "${value[$1]}" ] || return 0
	found=$(with_place 'at_place() { print old; exit }' "$@")
	[ "$found" = "${value[$1]}" ] || differs "$2: '$found' in place of '${value[$1]}' (${1//_/ })"
}

write_place() {
	[ -n "${value[$1]}" ] || return 0
	if [ -n "$(with_place 'at_place() { print; exit }' "$@")" ]; then
		with_place '!done && at_place() { $0 = before ENVIRON["VALUE"] behind; done = 1 } { print }' "$@" >"$2.new"
	elif [ -n "${5-}" ]; then
		with_place '{ print } !done && match($0, ENVIRON["AFTER"]) { print ENVIRON["LINE"]; done = 1 }' "$@" >"$2.new"
	else
		return 0
	fi
	cat "$2.new" >"$2"
	rm "$2.new"
}

# ---- Checks ----

differences=0
differs() {
	printf '%s\n' "$1" >&2
	differences=$((differences + 1))
}

# compare_numbers: compares the number in the name of each shared library, which -version-info gives, with all places that
# have the name.
compare_numbers() {
	local numbers library number file
	numbers=$(sed -nE 's/^(libreel[a-z_]*)_la_LDFLAGS = -version-info ([0-9]+):[0-9]+:([0-9]+).*/\1 \2 \3/p' \
		./*/local.mk dropin/*/local.mk | awk '{ gsub(/_/, "-", $1); print $1 ".so." $2 - $3 }' | sort)
	[ "$(echo "$numbers" | wc -l)" -gt 5 ] || differs 'the files local.mk have no -version-info'
	while read -r file library; do
		grep -qxF -e "$library" <<<"$numbers" || differs "$file: $library is not one of: ${numbers//$'\n'/ }"
	done < <(grep -roE --include='*.[ch]' --include='*.py' --include='*.symbols' 'libreel(-[a-z]+)*\.so\.[0-9]+' \
		include lib gpu omp mpi dropin python tests bench debian 2>/dev/null | sed 's/:/ /' | sort -u)
	[ -d debian ] || return 0
	for library in $numbers; do
		number=${library##*.}
		file=debian/${library%.so.*}$number.install
		[ -f "$file" ] || differs "there is no $file for $library"
	done
}

# compare_readme: compares the version in README.md, and the date in the same line, if they are there.
compare_readme() {
	local found
	for found in $(grep -oE '[Rr]eel[- ][0-9]+\.[0-9]+\.[0-9]+' README.md | grep -oE '[0-9.]+$'); do
		[ "$found" = "${value[version]}" ] || differs "README.md: '$found' in place of '${value[version]}' (version)"
	done
	for found in $(grep -E 'Reel [0-9]+\.[0-9]+\.[0-9]+' README.md | grep -oE '20[0-9]{2}-[0-9]{2}-[0-9]{2}'); do
		[ "$found" = "${value[date]}" ] || differs "README.md: '$found' in place of '${value[date]}' (date)"
	done
}

check_places() {
	action=compare_place
	places
	compare_numbers
	compare_readme
	grep -qxF "==== ${value[version]}" doc/all-changes.txt || differs "doc/all-changes.txt has no '==== ${value[version]}'"
	[ $differences -eq 0 ] || die "$differences places differ; after a change of configure.ac, CHANGES or packaging/addresses run packaging/release.sh --fill"
}

# check_sources: checks that all addresses are known, that the date is today, that no file is uncommitted, and that the
# version has no tag.
check_sources() {
	local key
	for key in "${addresses[@]}"; do
		[ -n "${value[$key]}" ] || die "packaging/addresses has no $key; run packaging/release.sh --fill"
	done
	[ "${value[date]}" = "$(date +%F)" ] ||
		die "CHANGES has the date ${value[date]}, and today is another day; change it and run packaging/release.sh --fill"
	[ -z "$(git status --porcelain)" ] || die 'files are not committed; see git status'
	! git rev-parse -q --verify "refs/tags/v${value[version]}" >/dev/null || die "there is a tag v${value[version]}"
}

# ---- Filling in ----

ask_for_addresses() {
	local key answer
	for key in "${addresses[@]}"; do
		[ -z "${value[$key]}" ] || continue
		sed -n "/^$key=/{x;s/^# //p}; h" packaging/addresses
		read -r -p "$key=" answer || break
		VALUE=$key=$answer awk -v key="$key=" 'index($0, key) == 1 { $0 = ENVIRON["VALUE"] } { print }' packaging/addresses \
			>packaging/addresses.new
		cat packaging/addresses.new >packaging/addresses
		rm packaging/addresses.new
	done
	echo
}

# ---- Files ----

# Order, owners and modes of files do not depend on the machine, so each machine makes an equal tarball.
pack_options='--sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w --format=ustar'

# make_tarball FOLDER: makes the tarball of the last commit in $work/FOLDER.
make_tarball() (
	rm -rf "${work:?}/$1"
	mkdir -p "$work/$1"
	git archive HEAD | tar -C "$work/$1" -xf -
	cd "$work/$1"
	autoreconf -i >log 2>&1
	./configure --disable-dependency-tracking --disable-static --disable-openmp --disable-fortran --with-pool=c11 --with-lz4=no \
		--with-mpi=no --with-libdw=no --with-sqlite=no --with-tsunami=no --with-adolc=no --with-verifier=no \
		--with-petsc=no --with-cuda=no >>log 2>&1
	TAR_OPTIONS="$pack_options --mtime=@$SOURCE_DATE_EPOCH" XZ_OPT='-9e -T1' make dist >>log 2>&1
)

# make_amalgamation FOLDER: makes the core as two files, in the build that make_tarball has configured.
make_amalgamation() (
	cd "$work/$1"
	make -s amalgamation
	mkdir "reel-amalgamation-${value[version]}"
	cp amalgamation/*.[ch] LICENSE "reel-amalgamation-${value[version]}"
	tar $pack_options --mtime="@$SOURCE_DATE_EPOCH" -cf - "reel-amalgamation-${value[version]}" |
		xz -9e -T1 >"$out/reel-amalgamation-${value[version]}.tar.xz"
)

# make_recipes: writes the recipes of Spack and conda with the checksum of the tarball.
make_recipes() {
	local sum
	sum=$(sha256sum <"$out/reel-${value[version]}.tar.xz" | cut -d ' ' -f 1)
	mkdir -p "$out/spack" "$out/conda"
	sed "s/^    version(\"${value[version]}\"/&, sha256=\"$sum\"/" packaging/spack/package.py >"$out/spack/package.py"
	sed "s/^  sha256: .*/  sha256: $sum/" packaging/conda/meta.yaml >"$out/conda/meta.yaml"
	cp packaging/conda/build.sh "$out/conda"
}

make_files() {
	local name=reel-${value[version]}.tar.xz
	export SOURCE_DATE_EPOCH
	SOURCE_DATE_EPOCH=$(date -u -d "${value[date]}" +%s)
	out=$PWD/build/release work=$PWD/build/release/work
	rm -rf "$out"
	mkdir -p "$out"
	echo "making $name twice: a minute"
	make_tarball first
	make_tarball another-folder
	cmp "$work/first/$name" "$work/another-folder/$name" || die 'two builds of the tarball differ'
	cp "$work/first/$name" "$out"
	make_amalgamation first
	if [ -x packaging/wheel/build.sh ]; then
		packaging/wheel/build.sh
		cp build/wheel/*.whl "$out"
	fi
	make_recipes
	rm -rf "$work"
	(cd "$out" && sums=$(find . -maxdepth 1 -type f -printf '%P\n' | sort | xargs sha256sum) && echo "$sums" | tee SHA256SUMS)
}

# stages: prints the names of the stages that test packages.
stages() { ./check --help | grep -oE '^  (package|wheel) '; }

what_is_left() {
	cat <<-TEXT

	The files are in $out. What is left:
	  git tag -s v${value[version]} -m 'Reel ${value[version]}' && git push origin v${value[version]}
	  gpg --armor --detach-sign build/release/SHA256SUMS
	  upload the files to ${value[downloads]:-the downloads}, and name the release on ${value[homepage]:-the page of the project}
	  PyPI: python3 -m twine upload build/release/*.whl
	  Debian: dpkg-buildpackage -S -sa beside reel_${value[version]}.orig.tar.xz, a copy of the tarball; then dput
	  Spack and conda-forge: a request with build/release/spack or build/release/conda
	  the next version: configure.ac, a new head in CHANGES and doc/all-changes.txt, packaging/release.sh --fill
	TEXT
}

# ---- The command ----

tests=yes trial= command=release
for argument; do
	case $argument in
	--check | --fill | --list) command=${argument#--} ;;
	--no-tests) tests= ;;
	--trial) trial=yes ;;
	--help) echo "$usage" && exit ;;
	*) echo "$usage" >&2 && exit 2 ;;
	esac
done
read_values
case $command in
list)
	action=list_place
	places
	;;
check) check_places ;;
fill)
	ask_for_addresses
	read_values
	action=write_place
	places
	check_places
	;;
release)
	check_places
	[ -n "$trial" ] || check_sources
	if [ -n "$tests" ]; then
		./check --all
		./check $(stages)
	fi
	make_files
	what_is_left
	;;
esac
