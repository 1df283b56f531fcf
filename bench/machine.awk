# SPDX-License-Identifier: MIT
# Needs rows.awk. Prints a sentence for the head of RESULTS.md with the times of the machine itself.
END {
	if (!medians["floor/word", "there and back"])
		exit
	printf "A word goes to another processor and back in %.0f ns, ", medians["floor/word", "there and back"]
	printf "a thread that sleeps wakes in %.1f us,", medians["floor/wake", "a wake"]
	printf "\nand a page of 4 KiB is given to a process in %.0f ns.\n", 1000 * medians["floor/page", "a page of 4 KiB"]
}
