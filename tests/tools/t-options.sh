#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the options of reel: files and options may be in any order, and the help, the command and the completions of shells
# have the same options. Options of ./demo and of its program may also be in any order.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel
version=$("$reel" --version)

# says STATUS TEXT WORD...: a check that the command ends with STATUS and prints TEXT.
says() {
	expected=$1 text=$2
	shift 2
	"$reel" "$@" >said 2>&1
	[ $? -eq "$expected" ] && grep -qF -e "$text" said
	ok $? "reel $*"
	[ $? -eq 0 ] || sed 's/^/#   /' said
}

# ---- The order ----

echo 'reel profile 1
peak 100
place 2 300 100 at a.c:7' >profile
says 0 '"line": "a.c:7"' profile profile --json
says 0 'a.c:7 300' profile profile --folded
says 0 '"line": "a.c:7"' profile --json -- profile
says 2 '--output needs a value' report trace.json --output
says 2 "unknown option '--colour'" report trace.json --colour
says 2 "unknown option '-x'" profile profile -xy
says 2 "unknown option '--json=yes'" info --json=yes
says 2 "unknown argument 'now'" top now --once
says 2 './command: a command comes after --' tune ./command --runs 3
says 2 '--runs needs a value' tune --runs -- ./command
says 0 'binomial' plan --steps=10 --slots 3
says 0 "$version" -V
says 0 "$version" report trace.json -V
says 0 'Usage: reel report' report trace.json --help

mkdir build-aux
echo 'die() { echo "$1" >&2; exit 2; }; install() { exit; }' >build-aux/bootstrap.sh
cp "$SOURCE_DIR/demo" demo
is_refused 'as --ranks 4' ./demo --threads 2 --ranks many
ok $? './demo reads its own options behind those of its program'

# ---- The lists ----

# complete_words WORD...: prints the words that bash offers for the last one.
compgen=$(command -v bash)
complete_words() {
	"$compgen" -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
		_reel "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$SOURCE_DIR/tools/completion/reel" "$reel" "$@" | sort
}

# shows WANTED WORD...: a check that bash offers the words WANTED.
shows() {
	wanted=$1
	shift
	[ "$(echo $(complete_words "$@"))" = "$wanted" ]
	ok $? "bash completes reel $*: $wanted"
}

verbs=$(sed -n 's/^	{ "\([a-z]*\)", ".*_run },$/\1/p' "$SOURCE_DIR/tools/reel.c")
[ "$(echo "$verbs" | wc -l)" -ge 6 ]
ok $? 'there are verbs'
if [ -n "$compgen" ]; then
	shows "help $(echo $verbs)" ''
	shows 'plan profile' p
	shows 'profile' help pro
	shows '--help --version' --
	shows '--help --json --once' top --o --
	shows '--profile' report a/trace.json --p 2>errors
	is_empty errors 'bash says nothing of a path'
	shows '' report --output ''
	shows '' plan --steps ''
	complete_words tune --runs 3 -- s | grep -qx sleep
	ok $? 'bash completes the command of reel tune'
	for verb in $verbs; do
		complete_words $verb -- | grep -vx -e --help >listed
		# Options with a value are refused without one. Options without a value may be followed by another option.
		while read -r option; do
			if "$reel" help $verb | grep -qE "^  (--.*, )?$option [A-Z]"; then
				"$reel" $verb $option 2>&1 | grep -qF -e "$option needs a value"
			else
				"$reel" $verb $option --nothing 2>&1 | grep -qF -e "unknown option '--nothing'"
			fi || echo $option
		done <listed >unknown
		is_empty unknown "reel $verb knows each of the options in its help"
		cat listed >>lists
	done
	sed -nE 's/.*\{"(--)?([a-z-]+)", (required_argument|no_argument|[A-Z_]+, FOR_).*/--\2/p' "$SOURCE_DIR"/tools/*.c | sort -u >known
	sort -u lists | diff known - >difference
	is_empty difference 'and the help lists each of those that are known'
else
	skip 'the completion of bash: there is no bash'
fi
if command -v zsh >/dev/null; then
	zsh -f -c 'compadd() { shift; print -l -- $@ }; _files() { }; CURRENT=$#; words=("$@"); . "$0"' \
		"$SOURCE_DIR/tools/completion/_reel" "$reel" report --o >shown
	grep -qx -e --output shown
	ok $? 'zsh completes options'
else
	skip 'the completion of zsh: there is no zsh'
fi
end
