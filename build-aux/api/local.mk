# SPDX-License-Identifier: MIT
# These programs read the headers, and write lists of their functions and types.
map_reader = -f %D%/figures.awk -f %D%/declarations.awk
api_reader = $(map_reader) -f %D%/members.awk
map_tool = %D%/figures.awk %D%/declarations.awk %D%/map.awk %D%/later
module_tool = %D%/figures.awk %D%/declarations.awk %D%/members.awk %D%/fortran.awk
write_file = $(AM_V_GEN)$(MKDIR_P) $(@D) && cd $(srcdir) && $(AWK) >$(abs_builddir)/$@
write_map = $(write_file) $(map_reader) -f %D%/map.awk -v later=%D%/later
write_module = $(write_file) $(api_reader) -f %D%/fortran.awk
EXTRA_DIST += %D%/declarations.awk %D%/figures.awk %D%/fortran.awk %D%/later %D%/members.awk %D%/map.awk %D%/python.awk
