# SPDX-License-Identifier: MIT
# What reads the headers, to write lists of what they declare.
api_reader = -f %D%/declarations.awk -f %D%/members.awk
map_tool = %D%/declarations.awk %D%/map.awk
write_map = $(AM_V_GEN)$(MKDIR_P) $(@D) && cd $(srcdir) && $(AWK) -f %D%/declarations.awk -f %D%/map.awk >$(abs_builddir)/$@
EXTRA_DIST += %D%/declarations.awk %D%/members.awk %D%/map.awk %D%/python.awk
