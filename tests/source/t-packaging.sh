#!/bin/sh
# SPDX-License-Identifier: MIT
# The files for packagers know the project's version and its configure options.
. "$SOURCE_DIR/tests/tap/tap.sh"

packaging=$SOURCE_DIR/packaging
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$BUILD_DIR/config.h")

grep -q "^version: $version\$" "$SOURCE_DIR/CITATION.cff"
ok $? "CITATION.cff is of version $version"
grep -q "version(\"$version\"" "$packaging/spack/package.py" && grep -q "/reel-$version.tar.xz\"" "$packaging/spack/package.py"
ok $? "the Spack recipe is of version $version"

# debian/ is in a clone, and in no tarball.
debian=$SOURCE_DIR/debian
if [ -d "$debian" ]; then
	head -n 1 "$debian/changelog" | grep -qF "reel ($version-"
	ok $? "debian/changelog begins with version $version"

	sed -n 's/^Package: //p' "$debian/control" >packages
	grep -oE '\.\./[a-z0-9*-]+' "$SOURCE_DIR/README.md" | sed 's|^\.\./||' >named
	[ -s named ]
	ok $? 'README.md installs packages'
	grep -vxF -f packages named >unknown
	is_empty unknown 'each of which debian/control has, by its name'
	grep -oE -e '-P *[a-z.]+' "$SOURCE_DIR/README.md" | sed 's/-P *//' | sort -u | while read -r profile; do
		grep -qF "<!$profile>" "$debian/control" || echo "$profile"
	done >unknown
	is_empty unknown 'and it knows the build profiles that README.md names'
fi

# configure ignores options that it does not know.
"$SOURCE_DIR/configure" --help | grep -oE -e '--(en|dis|with)[a-z0-9-]+' >help
sed -n 's/^--disable-/--enable-/p; s/^--enable-/--disable-/p; s/^--with-/--without-/p' help >>help.others
cat help.others >>help
{
	grep -oE -e '--(enable|disable|with|without)-[a-z0-9-]+' "$packaging/spack/package.py" "$packaging/oss-fuzz/build.sh"
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
bash -n "$packaging/oss-fuzz/build.sh"
ok $? 'the script for OSS-Fuzz is bash'
end
