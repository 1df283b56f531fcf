#!/bin/sh
# SPDX-License-Identifier: MIT
# Reads traces of whole programs as JSON: they have events of regions, runs and stores, and the events of a
# track are nested, as programs that draw traces expect.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -n "$TSUNAMI" ] || skip_all 'the example is not built: libnetcdf or cairo is missing'
python3 -c '' 2>/dev/null || skip_all 'there is no python3'
can_spill || skip_all 'files here are in memory'

cat >look.py <<'PROGRAM'
import collections, json, sys

events = json.load(open(sys.argv[1]))
count = collections.Counter(e["name"] for e in events)
tracks = collections.defaultdict(list)
named = set()
for e in events:
    assert e["ph"] in "MXiC" and isinstance(e["pid"], int), e
    if e["ph"] == "M" and e["name"] == "thread_name":
        named.add(e["tid"])
    if e["ph"] == "X":
        assert e["dur"] >= 0
        # Times have a resolution of nanoseconds, so whole numbers are compared.
        begin, length = round(1000 * e["ts"]), round(1000 * e["dur"])
        tracks[e["tid"]].append((begin, -length, e["name"]))
for track, spans in tracks.items():
    open_ends = []
    for begin, length, name in sorted(spans):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or begin - length <= open_ends[-1], (track, name, begin)
        open_ends.append(begin - length)
assert set(tracks) <= named, set(tracks) - named
for wanted in sys.argv[2:]:
    name, least = wanted.rsplit("=", 1)
    assert count[name] >= int(least), (wanted, count)
print(len(events), "events on", len(tracks), "tracks")
PROGRAM

# traced NAME WANTED... -- OPTION...: runs the tsunami with a trace, and checks that it has the events WANTED.
traced() {
	name=$1
	shift
	wanted=
	while [ "$1" != -- ]; do
		wanted="$wanted$1
"
		shift
	done
	shift
	rm -rf out
	REEL_TRACE=$name.json REEL_PROFILE=$name.profile "$TSUNAMI" --quiet --output out "$@" >stdout 2>stderr
	ok $? "the tsunami, $name, with a trace"
	(
		IFS='
'
		python3 look.py "$name.json" $wanted
	) >seen 2>&1
	ok $? "a reader of JSON finds what was to be: $(tail -n 1 seen)"
	[ -s stderr ] && sed 's/^/#   /' stderr
}

"$TSUNAMI" --quiet --output out --basin idealised --hours 5 >stdout 2>stderr && mv out plain
budget=$((($(sed -n 's/^ *"tape_bytes": \([0-9]*\),$/\1/p' plain/summary.json) / 5 / 2097152 + 8) * 2097152))
traced spilled 'pool opened=1' 'region=1' 'region, reverse=1' 'wait for threads=2' 'seal=1' 'put=1' 'get=1' 'evict=1' -- \
	--basin idealised --hours 5 --threads 2 --budget "$budget" --spill .
tape_bytes=$(sed -n 's/^ *"tape_bytes": \([0-9]*\),$/\1/p' plain/summary.json)
python3 - spilled.json "$tape_bytes" "$(sed -n 's/^peak //p' spilled.profile)" <<'PROGRAM'
import collections, json, sys

held, peak = collections.Counter(), collections.Counter()
for e in sorted((e for e in json.load(open(sys.argv[1])) if e["ph"] == "C"), key=lambda e: e["ts"]):
    for kind in "bytes of tape", "bytes of place":
        if e["name"].startswith(kind):
            held[kind] += e["args"]["bytes"] - held[e["name"]]
            held[e["name"]] = e["args"]["bytes"]
            peak[kind] = max(peak[kind], held[kind])
tape_bytes, at_peak = map(int, sys.argv[2:])
print("#  ", peak, tape_bytes, at_peak)
assert tape_bytes - 3 * 2**21 < peak["bytes of tape"] < tape_bytes
assert peak["bytes of place"] == at_peak
PROGRAM
ok $? 'tapes and lines have the bytes over time that they have at their peak'
cmp plain/gradient.nc out/gradient.nc
ok $? 'and the gradient is what it is without one'
if grep -q '^#define HAVE_SYS_SDT_H 1' "$BUILD_DIR/config.h" && [ -f "$BUILD_DIR/.libs/libreel.so" ]; then
	readelf -n "$BUILD_DIR/.libs/libreel.so" | awk '/Provider: reel/ { getline; found = /event/; getline; found = found && !/Semaphore: 0x0+$/ }
		END { exit !found }'
	ok $? 'tracers of the system find the probe'
else
	skip 'the probe: built without sys/sdt.h, or as a static library'
fi
traced checkpointed 'advance=1' 'record=1' 'reverse=1' 'store=1' 'load=1' -- \
	--basin idealised --hours 5 --checkpoint auto --budget 20000000
end
