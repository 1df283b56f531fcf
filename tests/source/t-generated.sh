#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that the generated files agree with the headers from which they are made.
. "$SOURCE_DIR/tests/tap/tap.sh"

api=$SOURCE_DIR/build-aux/api

env -u MAKEFLAGS -u MFLAGS make -s -C "$BUILD_DIR" api python_api="$PWD/api.py" >/dev/null
diff "$SOURCE_DIR/python/reel/_api.py" api.py >difference
is_empty difference 'python/reel/_api.py is what the headers declare (make api)'

cat >sample.h <<'END'
#ifndef REEL_SAMPLE_H
#define REEL_SAMPLE_H

#ifdef __cplusplus
int reel_only_plus_plus(void);
#endif

#define REEL_SAMPLES (-3)

/* The figures; a comment with reel_no_function(void); */
#define REEL_SAMPLE_FIGURES(X) \
	X(uint64_t, hard_budget, "bytes; UINT64_MAX: no bound") \
	X(int64_t, takes, "of X(uint64_t, slabs), so far")
#define REEL_MAX_TIERS 4
#define REEL_MORE_FIGURES(X, X_TIERS) \
	REEL_SAMPLE_FIGURES(X) \
	X_TIERS(uint64_t, stores, "states")
struct reel_sample_stats {
	REEL_MORE_FIGURES(REEL_FIGURE_MEMBER, REEL_FIGURE_TIERS)
	/* More; of its own. */
	double mean, *longest[REEL_SAMPLES + 4];
	int (*report)(void *context, int64_t first);
	struct reel_sample_options *next;
	struct reel_sample_options first;
};
struct reel_sample_options {
	unsigned reserved[2]; /* 0 */
};

typedef struct reel_sample reel_sample;
typedef void reel_sample_body(void *context);
static inline int reel_sample_inline(void) { if (1) { return 0; } return 1; }
int reel_sample_open(reel_sample **sample, const char *name, reel_sample_body *body,
		     const struct reel_sample_options *options)
#if defined(__GNUC__)
	__attribute__((format(printf, 2, 3)))
#endif
	;
bool reel_sample_is_open(const reel_sample *sample);
const char *reel_sample_name(void);
#endif
END
awk -f "$api/figures.awk" -f "$api/declarations.awk" -f "$api/members.awk" -f "$api/python.awk" sample.h | sed '1,/^)/d; /^$/d; s/^"""/#/' >written
diff - written >difference <<'END'
SAMPLES = -3
MAX_TIERS = 4
class SampleOptions(Structure):
    _fields_ = [
        ("reserved", c_uint * 2),
    ]
class SampleStats(Structure):
    _fields_ = [
        ("hard_budget", c_uint64),
        ("takes", c_int64),
        ("stores", c_uint64 * MAX_TIERS),
        ("mean", c_double),
        ("longest", POINTER(c_double) * (SAMPLES + 4)),
        ("report", c_void_p),
        ("next", POINTER(SampleOptions)),
        ("first", SampleOptions),
    ]
STRUCTS = {
    "reel_sample_options": SampleOptions,
    "reel_sample_stats": SampleStats,
}
#The structs by their names in C."""
FUNCTIONS = {
    "reel_sample_open": (c_int, POINTER(c_void_p), c_char_p, c_void_p, POINTER(SampleOptions)),
    "reel_sample_is_open": (c_bool, c_void_p),
    "reel_sample_name": (c_char_p,),
}
#The type of the result and of the arguments of each function."""
END
is_empty difference 'a function, a figure and a struct of a header are in the table for Python'

cat >sample.f90.in <<'END'
!handles reel_sample
!types reel_sample_options(reserved=1) reel_sample_stats
!constants integer(c_int) REEL_SAMPLES
  public :: reel_sample_open, reel_sample_close
!interfaces
contains
!each kind,n integer4,4 real8,8
  {type:{kind}} :: x{n}, {kind}
!end
  logical function reel_sample_is_open(sample)
    reel_sample_is_open = c_sample_is_open(sample%handle)
END
awk -f "$api/figures.awk" -f "$api/declarations.awk" -f "$api/members.awk" -f "$api/fortran.awk" -v template=sample.f90.in sample.h >written
diff - written >difference <<'END'
  type, bind(C), public :: reel_sample
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: reel_sample_options
    integer(c_int) :: reserved(2) = 1
  end type
  type, bind(C), public :: reel_sample_stats
    integer(c_int64_t) :: hard_budget = 0
    integer(c_int64_t) :: takes = 0
    integer(c_int64_t) :: stores(REEL_MAX_TIERS) = 0
    real(c_double) :: mean = 0
    type(c_ptr) :: longest(REEL_SAMPLES + 4) = c_null_ptr
    type(c_funptr) :: report = c_null_funptr
    type(c_ptr) :: next = c_null_ptr
    type(reel_sample_options) :: first
  end type
  integer(c_int), parameter, public :: REEL_SAMPLES = -3
  public :: reel_sample_open, reel_sample_close
  interface
    integer(c_int) function reel_sample_open(sample, name, body, options) &
      bind(C, name="reel_sample_open")
      import
      type(reel_sample), intent(inout) :: sample
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_funptr), value :: body
      type(reel_sample_options), intent(in), optional :: options
    end function
    logical(c_bool) function c_sample_is_open(sample) &
      bind(C, name="reel_sample_is_open")
      import
      type(c_ptr), value :: sample
    end function
  end interface
contains
  integer(c_int32_t) :: x4, integer4
  real(c_double) :: x8, real8
  logical function reel_sample_is_open(sample)
    reel_sample_is_open = c_sample_is_open(sample%handle)
END
is_empty difference 'and in a module of Fortran'

mkdir include lib
sed 's/^bool/int reel_sample_added(void);\n&/' sample.h >include/sample.h
printf '/* ---- Exported as REEL_PRIVATE ---- */\n\nint reel_sample_private(void);\n' >lib/own.h
echo 'REEL_0.3 reel_sample_added' >later
awk -f "$api/figures.awk" -f "$api/declarations.awk" -f "$api/map.awk" -v set=REEL_0.1 -v later=later include/sample.h lib/own.h >written
diff - written >difference <<'END'
REEL_0.1 {
global:
	reel_sample_is_open;
	reel_sample_name;
	reel_sample_open;
local:
	*;
};

REEL_0.3 {
global:
	reel_sample_added;
} REEL_0.1;

REEL_PRIVATE {
global:
	reel_sample_private;
};
END
is_empty difference 'a function that came later is in a set of its own in the map of symbols'

echo 'END { for (group in code) print code[group] }' >print.awk
awk -f "$api/figures.awk" -f "$SOURCE_DIR/doc/reference/headers.awk" -f print.awk sample.h |
	grep -qx ' *uint64_t hard_budget; /\* bytes; UINT64_MAX: no bound \*/'
ok $? 'and a figure is on the page of its struct'
end
