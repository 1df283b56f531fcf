# SPDX-License-Identifier: MIT
# The tape for gradients that Clad generates. It consists of headers, so nothing is compiled here.
reelcladdir = $(reelincludedir)/clad
reelclad_HEADERS = \
	%D%/tape.h \
	%D%/alone.h \
	%D%/bits.h \
	%D%/element.h \
	%D%/fault.h \
	%D%/objects.h \
	%D%/tapes.h \
	%D%/values.h

dist_check_SCRIPTS += \
	tests/dropin/t-clad.sh $(compiles) $(one_thread) \
	tests/dropin/t-clad-headers.sh $(compiles) $(one_thread) \
	tests/dropin/t-clad-threads.sh $(compiles)
EXTRA_DIST += \
	%D%/README.md \
	tests/helpers/clad.sh \
	tests/helpers/clad-names.h \
	tests/dropin/t-clad.cpp \
	tests/dropin/t-clad-alone.cpp \
	tests/dropin/t-clad-beside.cpp \
	tests/dropin/t-clad-frame.cpp \
	tests/dropin/t-clad-hook.cpp \
	tests/dropin/t-clad-openmp.cpp \
	tests/dropin/t-clad-size.cpp \
	tests/dropin/t-clad-threads.cpp
