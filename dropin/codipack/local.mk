# SPDX-License-Identifier: MIT
# A header alone: data streams for CoDiPack's tapes. CoDiPack is not needed to install it.
reelinclude_HEADERS += include/reel/codipack.hpp

dist_check_SCRIPTS += tests/dropin/t-codipack.sh $(compiles)
EXTRA_DIST += \
	%D%/README.md \
	bench/codipack.cpp \
	tests/dropin/t-codipack.cpp \
	tests/helpers/codi.hpp
