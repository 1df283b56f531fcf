#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes SCALING.md from runs of reel-scale. The tables show the last run, and the worst rounds of all runs.
# Usage: bench/scale/scaling.sh BUILD-DIRECTORY RESULTS.json... >bench/SCALING.md
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
build=$1
shift
here=$(dirname "$0")

fact() {
	"$build/tools/reel" info | sed -n "s/^$1: *//p"
}

machine="Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(fact cpus_allowed) processors,
NUMA nodes $(fact numa_nodes), L2 $(getconf LEVEL2_CACHE_SIZE), L3 $(getconf LEVEL3_CACHE_SIZE) bytes. Compiler $(fact compiler), pool list $(fact pool_implementation)."

awk -v machine="$machine" -f "$here/../rows.awk" -f "$here/scaling.awk" "$@"
