# Headers alone: the tape for gradients that Clad generates. Nothing of it is compiled here.
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

dist_check_SCRIPTS += tests/t-clad.sh tests/t-clad-headers.sh tests/t-clad-threads.sh
EXTRA_DIST += \
	%D%/README.md \
	tests/clad.sh \
	tests/t-clad.cpp \
	tests/t-clad-alone.cpp \
	tests/t-clad-beside.cpp \
	tests/t-clad-frame.cpp \
	tests/t-clad-openmp.cpp \
	tests/t-clad-size.cpp \
	tests/t-clad-threads.cpp
