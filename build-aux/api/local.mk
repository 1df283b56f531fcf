# SPDX-License-Identifier: MIT
# What reads the headers, to write lists of what they declare.
api_reader = -f %D%/declarations.awk -f %D%/members.awk
EXTRA_DIST += %D%/declarations.awk %D%/members.awk %D%/python.awk
