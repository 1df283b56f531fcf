#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that the files for packagers have the project's version, its date and its configure options.
. "$SOURCE_DIR/tests/tap/tap.sh"

packaging=$SOURCE_DIR/packaging

"$packaging/release.sh" --check >differences 2>&1
is_empty differences 'all places have the version, the date, the addresses and the numbers of libraries'

# Copies the files that the script reads, so that the test can change them.
mkdir copy
(cd "$SOURCE_DIR" && tar -cf - CHANGES CITATION.cff README.md SECURITY.md configure.ac doc/all-changes.txt doc/local.mk include/reel/version.h \
	packaging ./*/local.mk dropin/*/local.mk lib/store/*.c python/pyproject.toml python/reel/*.py $([ ! -d debian ] || echo debian)) |
	tar -C copy -xf -
chmod -R u+w copy
release=copy/packaging/release.sh
sed 's|^\([a-z]*\)=.*|\1=https://example.net/x\&y|; s|^maintainer=.*|maintainer=N. N. <n\&n@example.net>|' "$packaging/addresses" \
	>copy/packaging/addresses
"$release" --check 2>differences
[ $? -eq 1 ] && grep -q '^packaging/conda/meta.yaml: .*handle' differences
ok $? 'an address that is known, and is not in all places, is seen'
"$release" --fill </dev/null >differences 2>&1 && "$release" --check
ok $? 'packaging/release.sh --fill writes it there'
"$release" --list >places
"$release" --fill </dev/null >differences 2>&1 && "$release" --list | diff places - >differences
is_empty differences 'and changes nothing when it is called again'

# Changes the value of each place, the version in README.md, and the number of a library.
while IFS='	' read -r name file value; do
	cp "copy/$file" kept
	VALUE=$value ${AWK:-awk} '{
		for (line = ""; at = index($0, ENVIRON["VALUE"]); $0 = substr($0, at + length(ENVIRON["VALUE"])))
			line = line substr($0, 1, at - 1) 9 ENVIRON["VALUE"]
		print line $0
	}' kept >"copy/$file"
	printf '%s: (%s)\n' "$file" "$(printf %s "$name" | tr _ ' ')"
done <places >wanted
echo 'README.md: (version)' >>wanted
echo 'Reel 9.0.0' >>copy/README.md
sed -i 's/-version-info 0:0:0/-version-info 1:0:0/' copy/lib/local.mk
"$release" --check >differences 2>&1
[ $? -eq 1 ] && [ "$(wc -l <places)" -gt 20 ] && grep -q '^python/reel/_library.py: libreel.so.0 is not one of' differences
ok $? "$(wc -l <places) places are listed, and the number of a library is compared"
sed 's/: .* (/: (/' differences | sort -u >seen
sort -u wanted | comm -23 - seen >unseen
is_empty unseen 'the script sees another version, date or address in each of them, and in README.md'
grep -vE '^(#.*)?$|^[a-z0-9]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}( --hash=sha256:[0-9a-f]{64})*$' \
	"$packaging/wheel/requirements.txt" "$packaging/wheel/sources.txt" >unpinned
is_empty unpinned 'the wheels are built by tools and from sources of one version, whose sums are known'

# debian/ is in a clone, and in no tarball.
debian=$SOURCE_DIR/debian
if [ -d "$debian" ]; then
	sed -n 's/^Package: //p' "$debian/control" >packages
	grep -oE '\.\./[a-z0-9*-]+_' "$SOURCE_DIR/doc/installing.md" | sed 's|^\.\./||; s|_$||' >named
	[ -s named ]
	ok $? 'doc/installing.md installs packages'
	grep -vxF -f packages named >unknown
	is_empty unknown 'each of which debian/control has, by its name'
	grep -oE -e '-P *[a-z.]+' "$SOURCE_DIR/doc/installing.md" | sed 's/-P *//' | sort -u | while read -r profile; do
		grep -qF "<!$profile>" "$debian/control" || echo "$profile"
	done >unknown
	is_empty unknown 'and it knows the build profiles that doc/installing.md names'
fi

# Compares the options with configure's help, because configure ignores unknown options.
"$SOURCE_DIR/configure" --help | grep -oE -e '--(en|dis|with)[a-z0-9-]+' >help
sed -n 's/^--disable-/--enable-/p; s/^--enable-/--disable-/p; s/^--with-/--without-/p' help >>help.others
cat help.others >>help
{
	grep -oE -e '--(enable|disable|with|without)-[a-z0-9-]+' "$packaging/spack/package.py" "$packaging/oss-fuzz/build.sh" \
		"$packaging/conda/build.sh" "$packaging/release.sh"
	[ ! -d "$debian" ] || grep -oE -e '--(enable|disable|with|without)-[a-z0-9-]+' "$debian/rules"
	sed -n 's/.*enable_or_disable("\([a-z]*\)").*/:--enable-\1/p' "$packaging/spack/package.py"
} | sed 's/.*://' | sort -u >used
[ "$(wc -l <used)" -gt 10 ]
ok $? 'the recipes have options'
grep -vxF -f help used >unknown
is_empty unknown 'configure knows the options of the recipes'

if command -v python3 >/dev/null; then
	PYTHONPYCACHEPREFIX=$PWD python3 -m py_compile "$packaging/spack/package.py"
	ok $? 'the Spack recipe is Python'
else
	skip 1 'the Spack recipe is Python: no python3'
fi
if python3 -c 'import jinja2, yaml' 2>/dev/null; then
	python3 - "$packaging/conda/meta.yaml" <<-'END'
	import sys, jinja2, yaml
	names = {name: lambda *words, **options: "x" for name in ("compiler", "stdlib", "pin_subpackage")}
	recipe = yaml.safe_load(jinja2.Template(open(sys.argv[1]).read()).render(PYTHON="python", **names))
	assert [output["name"] for output in recipe["outputs"]] == ["libreel", "python-reel"]
	END
	ok $? 'the conda recipe is YAML'
else
	skip 1 'the conda recipe is YAML: no Jinja and YAML for Python'
fi
bash -n "$packaging/oss-fuzz/build.sh" && bash -n "$packaging/conda/build.sh"
ok $? 'the scripts for OSS-Fuzz and conda are bash'
bash -n "$packaging/wheel/build.sh" && bash -n "$packaging/wheel/stage.sh" && sh -n "$packaging/wheel/compile.sh" && sh -n "$packaging/wheel/try.sh"
ok $? 'the scripts for wheels are bash and sh'
end
