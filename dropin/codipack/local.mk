# SPDX-License-Identifier: MIT
# Data streams for CoDiPack's tapes: one header, which can be installed without CoDiPack.
reelinclude_HEADERS += include/reel/codipack.hpp

dist_check_SCRIPTS += tests/dropin/t-codipack.sh $(compiles)
EXTRA_DIST += \
	%D%/README.md \
	bench/codipack.cpp \
	tests/dropin/t-codipack.cpp \
	tests/helpers/codi.hpp
