#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel report: the figures of a page agree with its traces, its pictures show these figures, names are escaped, bad
# traces are refused, and the page works in a browser, with dygraphs and without.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel
python3 -c '' 2>/dev/null || skip_all 'there is no python3'

# Writes a trace of two threads and a store, with lines in the form of the library.
event() {
	printf '{"name":"%s","ph":"%s","pid":7,"tid":%s,"cat":"c",%s"ts":%s,%s"args":{%s}},\n' "$@"
}
{
	echo '[{"name":"process_name","ph":"M","pid":7,"args":{"name":"</script><b>"}},       '
	echo '{"name":"thread_name","ph":"M","pid":7,"tid":7,"args":{"name":"main thread"}},'
	event 'pool opened' i 7 '"s":"t",' 1000.000 '' '"pool":1,"hard_budget":4194304,"soft_budget":3145728,"slab_bytes":2097152'
	event 'memory of pool 1' C 7 '' 1500.000 '' '"resident":2097152,"in_use":2097152'
	event 'wait for memory' X 7 '' 2000.000 '"dur":500.001,' '"pool":1'
	event 'wait for memory' X 7 '' 3000.000 '"dur":1500.000,' '"pool":1'
	event put X 10000700 '' 2000.000 '"dur":1000.000,' '"pool":1,"tape":1,"slab":0,"bytes":2097152,"stored_bytes":1048576'
	event 'memory of pool 1' C 7 '' 6000.000 '' '"resident":4194304,"in_use":8388608'
	event advance X 7 '' 7000.000 '"dur":2000.000,' '"first":0,"last":10'
	event reverse X 7 '' 9000.000 '"dur":1000.000,' '"first":9,"last":10'
	event 'states rounded' i 7 '"s":"t",' 9500.000 '' '"bytes":8000000,"stored_bytes":1000000'
	echo '{"name":"half written","ph":"X","pid":7,"ti'
} >trace.json

"$reel" report --dygraphs nowhere/dygraph.js --output page.html trace.json >said &&
	grep -q "^page.html: open it in a browser; its charts do not zoom, since there is no dygraphs in 'nowhere/dygraph.js'" said
ok $? 'a page is made without dygraphs, too'
# This program reads the page as XML, which a page without scripts is.
cat >look.py <<'PROGRAM'
import itertools, json, re, sys, xml.etree.ElementTree
text = open(sys.argv[1]).read()
page = xml.etree.ElementTree.fromstring(text)
words = lambda element: "".join(element.itertext())
number = lambda cell: float(cell.get("title", 0))
findings = [words(item) for item in page.iter("li")]
tables = {table.get("id"): {words(row[0]): row[1:] for row in table.iterfind("tbody/tr")} for table in page.iter("table")}
sums = {name: {"count": int(row[0].text), "seconds": number(row[1]), "longest": number(row[2]), "bytes": number(row[3])}
        for name, row in tables["sums"].items()}
class Chart:
    def __init__(self, figure):
        self.__dict__ |= json.loads(figure.find("script").text)
        self.names = [words(cell) for cell in figure.iterfind(".//tbody/tr/th")]
        self.values = dict(zip(self.names, list(zip(*self.rows))[1:]))
        self.seconds = self.rows[0][0] + self.rows[-1][0]
        self.paths = [path.get("d") for path in figure.iter("path")]
        self.axes = [words(label) for label in figure.iterfind("div/svg/text")]
        self.legend = [words(entry).strip() for entry in figure.iterfind("p/span")]
    def integral(self, name):
        return sum(self.values[name]) * self.seconds / len(self.rows)
    def drawn(self, path):
        """Returns the value of the path in each bin."""
        steps, x, y = [None] * len(self.rows), 0, None
        for kind, to, height in re.findall(r"([MHV])(\d+)(?: (\d+))?", path):
            if kind == "H":
                steps[x:int(to)] = [self.top * (1 - y / 1000)] * (int(to) - x)
            x, y = (int(to), int(height)) if kind == "M" else (int(to), y) if kind == "H" else (x, int(to))
        return steps
charts = {figure.find("figcaption").text.strip(): Chart(figure) for figure in page.iter("figure")}
for chart in charts.values():
    assert chart.legend == chart.names and len(chart.paths) == len(chart.names) > 0 and "0 s" in chart.axes
    lines = [chart.values[name] for name in chart.names]
    if chart.stacked:
        lines = list(itertools.accumulate(lines[::-1], lambda below, line: [a + b for a, b in zip(below, line)]))[::-1]
    for path, line in zip(chart.paths, lines):
        for drawn, value in zip(chart.drawn(path), line):
            assert value is drawn is None or abs(drawn - min(value, chart.top)) <= 0.00051 * chart.top
exec(sys.argv[2])
PROGRAM
look() {
	python3 look.py page.html "$1"
	ok $? "$2"
}
# report TRACE...: makes a page without dygraphs.
report() { "$reel" report --dygraphs none --output page.html "$@" >/dev/null; }
look 'assert sums["wait for memory"]["count"] == 2 and abs(sums["wait for memory"]["seconds"] - 0.002000001) < 1e-12' \
	'waits, to the nanosecond'
look 'assert abs(sums["wait for memory"]["longest"] - 0.0015) < 1e-12' 'the longest wait'
look 'assert sums["states rounded"]["bytes"] == 8000000 and any("took up 1/8.0 of their bytes" in f for f in findings)' \
	'the bytes that rounding saved'
look 'assert sums["put"]["bytes"] == 2097152 and abs(charts["Memory"].seconds - 0.009) < 1e-9' 'bytes, and the duration'
look 'm = charts["Memory"].values; used, resident = list(m.values())[:2]
assert max(used) == 8388608 and resident[0] == 0 and resident[-1] == 4194304 and set(m["hard budget"]) == {4194304}' \
	'memory over time, and its budget'
look 'assert abs(charts["Store"].integral("put") - 2097152) < 2000' \
	'traffic of the store'
look 'assert abs(charts["main thread"].integral("wait for memory") - 0.002) < 2e-5' 'what a thread waited for'
look 'p = charts["Plan"].values; assert max(v for v in p["advance"] if v) > 9.5 and p["reverse"][-1] < 9.5' \
	'the plan as it was carried out'
look 'assert any("Pushes waited 0.002 s for memory, 22 %" in f for f in findings)' 'the wait in words'
look 'assert not any("plan" in f for f in findings)' 'steps that advance once are not called waste'
look 'assert page.findtext(".//h1") == page.findtext(".//title") == "Reel: </script><b>"' 'hostile names do not end the data'
look 'c = charts["Memory"]; assert c.axes == ["0", "2.0M", "4.0M", "6.0M", "8.0M"] + [f"{i / 500:.4g} s" for i in range(5)]
assert c.paths[0] == "M0 1000H27V762H277V48H500" and [p.get("class") for p in page.iter("path")][:3] == [None, None, "dashed"]' \
	'the picture of memory has axes with units, and lines'
look 'assert charts["main thread"].stacked and charts["main thread"].paths[0].startswith("M0 1000H")' 'areas begin at the axis'
grep -q "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"" page.html
ok $? 'the page may not load or run anything'
dygraphs=/usr/share/javascript/dygraphs/dygraph.min.js
if [ -f $dygraphs ]; then
	"$reel" report --output zooms.html trace.json >said && [ "$(cat said)" = 'zooms.html: open it in a browser' ] &&
		grep -q "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"" zooms.html &&
		sed '1,/^<script>$/d' zooms.html | head -c "$(wc -c <$dygraphs)" | cmp - $dygraphs
	ok $? 'a page with dygraphs has a copy of it, with its licence'
	sed '/<\/main>/q' zooms.html | sed "s/; script-src 'unsafe-inline'//" >with
	sed '/<\/main>/q' page.html | cmp - with
	ok $? 'such a page also has the pictures, in case scripts do not run'
else
	skip "a page that zooms: $dygraphs is not there (libjs-dygraphs)"
fi

# The blocks of a trace are in the order in which threads took them, so later events may come first, as here.
{
	sed -n 1p trace.json
	event 'memory of pool 1' C 7 '' 6000.000 '' '"pool":1,"resident":4194304,"in_use":8388608'
	event 'memory of pool 1' C 7 '' 1500.000 '' '"pool":1,"resident":2097152,"in_use":2097152'
	event advance X 7 '' 1000.000 '"dur":9000.000,' '"first":0,"last":10'
	event advance X 7 '' 1e999 '"dur":2000.000,' '"first":0,"last":10'
	event advance X 7 '' 9500.000 '"dur":nan,' '"first":0,"last":10'
	event 'events dropped' C 7 '' 2000.000 '' '"events":3'
	event refused i 7 '"s":"t",' 2000.000 '' '"pool":1,"bytes":1,"error":-12'
	event refused i 7 '"s":"t",' 2000.000 '' '"pool":1,"bytes":1,"error":-122'
} >blocks.json
report blocks.json
look 'm = list(charts["Memory"].values.values())[0]; assert m == tuple(sorted(m)) and m[200] == 2097152 and m[-1] == 8388608' \
	'events in another order are shown in the order of time'
look 'assert sums["advance"]["count"] == 1 and "; 3 older events were dropped" in page.findtext(".//p")' 'wrong times are left out'
look 'assert any("1 requests for memory were refused at the hard budget" in f for f in findings)' \
	'the budget is blamed for what it refuses'
{
	sed -n 1p trace.json
	event advance X 7 '' 1000.000 '"dur":2000.000,' '"first":0,"last":10'
	event advance X 7 '' 3000.000 '"dur":2000.000,' '"first":0,"last":10'
	event record X 7 '' 5000.000 '"dur":500.000,' '"first":9,"last":10'
	event reverse X 7 '' 5500.000 '"dur":500.000,' '"first":9,"last":10'
} >again.json
report again.json
look 'assert any("advanced again from stored states took about 0.002 s, 40 %" in f for f in findings)' \
	'but steps that are advanced again are'
look 'assert not any("learnt" in f for f in findings)' 'a plan that learns nothing says nothing of it'
# A plan records 40 steps of 100 s, and gives up 10 of them. In memory for 40 tapes the best plan runs few steps again.
{
	sed -n 1p trace.json
	event learn i 7 '"s":"t",' 1000.000 '' '"step":0,"state_bytes":1000,"tape_bytes":0,"memory_bytes":40000000,"advance_ns":0,"record_ns":0'
	event record X 7 '' 1000.000 '"dur":4000.000,' '"first":0,"last":40'
	event learn i 7 '"s":"t",' 5000.000 '' '"step":40,"state_bytes":1000,"tape_bytes":1000000,"memory_bytes":40000000,"advance_ns":0,"record_ns":100000'
	event forget i 7 '"s":"t",' 5000.000 '' '"first":30,"last":40'
	event advance X 7 '' 5000.000 '"dur":500.000,' '"first":40,"last":50'
	event advance X 7 '' 6000.000 '"dur":1000.000,' '"first":30,"last":50'
	event record X 7 '' 7000.000 '"dur":2000.000,' '"first":30,"last":50'
	event reverse X 7 '' 9000.000 '"dur":5000.000,' '"first":0,"last":50'
} >learns.json
report learns.json
look 'assert any("until step 40: a state of 1000 bytes and a tape of 977K, in memory of 38M. From step 40 on it kept" in f
                 and "the tape of 10 steps" in f for f in findings)' 'a plan that learns says what it learnt and when it moved'
look 'assert any("took 0.0125 s in a gradient" in f and "the best fixed plan takes 0.0106 s" in f for f in findings)' \
	'and what the best fixed plan would take'
# Two gradients, or two processes, advance each step once each, so no step is run again.
{
	sed -n 1p trace.json
	for begin in 1000 2000; do
		event advance X 7 '' $begin.000 '"dur":400.000,' '"first":0,"last":9'
		event record X 7 '' $((begin + 400)).000 '"dur":50.000,' '"first":9,"last":10'
		event reverse X 7 '' $((begin + 450)).000 '"dur":50.000,' '"first":0,"last":10'
	done
} >gradients.json
sed 's/"pid":7/"pid":8/g' gradients.json >others.json
for traces in gradients.json 'gradients.json others.json'; do
	report $traces
	look 'assert not any("advanced again" in f for f in findings)' "steps of $traces are advanced once"
done
# The peak of one pool is not compared with the budget of another one.
{
	sed -n 1p trace.json
	event 'pool opened' i 7 '"s":"t",' 1000.000 '' '"pool":1,"hard_budget":4194304'
	event 'pool opened' i 7 '"s":"t",' 1000.000 '' '"pool":2,"hard_budget":-1'
	event 'memory of pool 1' C 7 '' 1500.000 '' '"resident":4194304,"in_use":PEAK'
	event 'memory of pool 2' C 7 '' 1500.000 '' '"resident":4194304,"in_use":4500000'
	event put X 10000700 '' 2000.000 '"dur":10.000,' '"pool":1,"tape":1,"slab":0,"bytes":2097152,"stored_bytes":1048576'
} >budgets.json
sed 's/PEAK/4194304/' budgets.json >budget.json
report budget.json
look 'assert not any("REEL_BUDGET=" in f for f in findings)' 'a budget is not blamed for another pool'
sed 's/PEAK/4800000/' budgets.json >budget.json
report budget.json
look 'assert any("had 4.6M bytes at their peak, a little more than the budget of 4.0M: with REEL_BUDGET=7M" in f for f in findings)' \
	'but for its own'
{
	sed -n 1p trace.json
	for pool in 1 2 3 4 5 6 7 8 9; do
		event "memory of pool $pool" C 7 '' 1500.000 '' '"resident":0,"in_use":0'
	done
} >pools.json
report pools.json
look 'assert sum("Memory of pool" in title for title in charts) == 8 and any("Of 9 pools" in f for f in findings)' \
	'pools that are not shown are mentioned'
sed 's/"pid":7/"pid":8/g' trace.json >other.json
report trace.json other.json
look 'assert sums["put"]["count"] == 2 and sum("Memory of pool" in title for title in charts) == 2 and "main thread of process 8" in charts' \
	'two processes on one page'
echo 'reel profile 1
peak 100
place 2 300 100 at <i>.c:7' >profile
is_refused 'of one process' "$reel" report --profile profile trace.json other.json
ok $? 'a profile with two traces is refused'
printf 'reel profile 1\npeak 1\nplace 2 3 4 at a:1\nplace 3 4 5 6\n' >cut
"$reel" report --profile cut trace.json 2>err
[ $? -eq 1 ] && grep -q 'is no profile' err
ok $? 'a profile that is cut off is refused'
report --profile profile trace.json
look 'assert {name: [cell.text for cell in row] for name, row in tables["lines"].items()} == {"<i>.c:7": ["300", "100", "100 %"]}' \
	'lines of a profile'

{
	sed -n 1p trace.json
	event 'bytes of place 2' C 7 '' 1500.000 '' '"tape":2,"bytes":100'
} >places.json
report places.json
look 'assert charts["Memory by line"].names == ["place 2"] and any("--profile PROFILE" in f for f in findings)' \
	'places without a profile have numbers, and the page says how they get names'
report places.json --profile profile
look 'assert charts["Memory by line"].names == ["<i>.c:7"] and not any("--profile" in f for f in findings)' \
	'which they have with one'

awk 'BEGIN {
	print "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":7,\"args\":{\"name\":\"program\"}},"
	for (i = 0; i < '"${TEST_LONG:+900000 +}"' 100000; i++)
		printf "{\"name\":\"put\",\"ph\":\"X\",\"pid\":7,\"tid\":%d,\"cat\":\"store\",\"ts\":%d.5,\"dur\":3.25,\"args\":{\"pool\":1,\"tape\":%d,\"bytes\":4096}},\n",
			i % 100, i * 10, i % 1000
}' >many.json
"$reel" report --output many.html many.json >/dev/null && [ "$(wc -c <many.html)" -lt 5000000 ]
ok $? "many events make a page of $(wc -c <many.html) bytes"

is_refused "'reel report --help'" "$reel" report
ok $? 'no trace is refused'
is_refused 'unknown option' "$reel" report --colour trace.json
ok $? 'an unknown option is refused'
is_refused 'needs a value' "$reel" report --output
ok $? 'an option without its file is refused'
"$reel" report nowhere 2>err
[ $? -eq 1 ] && grep -q "cannot read 'nowhere': No such file" err
ok $? 'a trace that is not there'
"$reel" report profile 2>err
[ $? -eq 1 ] && grep -q "'profile' is no trace; run the program with REEL_TRACE=FILE" err
ok $? 'a file that is no trace'
"$reel" report --output nowhere/page.html trace.json 2>err
[ $? -eq 1 ] && grep -q "cannot write 'nowhere/page.html': No such file" err
ok $? 'a page that cannot be written'

if [ -f "$BUILD_DIR/.libs/libreel.so" ]; then
	cat >program.c <<'PROGRAM'
#include <reel.h>
int main(void)
{
	reel_tape tape = {0};
	double sum = 0;
	for (long i = 0; i < 4000000; i++)
		reel_push(&tape, (double)i);
	for (long i = 0; i < 4000000; i++)
		sum += reel_pop(&tape, double);
	reel_tape_close(&tape);
	return sum < 0;
}
PROGRAM
	$CC $CFLAGS -I"$SOURCE_DIR/include" program.c -o program -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel &&
		REEL_TRACE=real.json REEL_BUDGET=12M REEL_STORE=memory=100M ./program &&
		report real.json
	ok $? 'a program is traced'
	# The wave of doc/digits.md has rounded states in each of its gradients.
	awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE_DIR/doc/digits.md" >wave.c
	$CC $CFLAGS -I"$SOURCE_DIR/include" wave.c -o wave -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel -lm &&
		REEL_TRACE=wave.json ./wave >printed && [ "$(grep -c '"states rounded"' wave.json)" -ge 5 ] &&
		"$reel" report --output wave.html wave.json >said && grep -q 'Stored states were rounded, and took up 1/' wave.html &&
		grep -q 'off by at most [1-9].[0-9]e-[01][0-9] of its largest component, after 5 gradients' wave.html
	ok $? 'a report says how many bytes the rounding of states saved'
	look 'trace = json.load(open("real.json"))
for name in "put", "get", "seal", "evict":
    events = [e for e in trace if e["name"] == name]
    assert len(events) == sums[name]["count"] > 0, name
    assert sum(e["args"]["bytes"] for e in events) == sums[name]["bytes"]
    assert abs(sum(e.get("dur", 0) for e in events) - 1e6 * sums[name]["seconds"]) < 1e-2
assert max(list(charts["Memory"].values.values())[0]) > 30e6 and max(charts["Memory by tape"].values["tape 1"]) > 28e6' 'the figures of its page are those of its trace'
fi

if command -v chromedriver >/dev/null; then
	chromedriver --port=0 >driver.log 2>&1 &
	driver=$!
	tries=0
	while ! grep -q 'started successfully on port' driver.log && [ $((tries += 1)) -lt 300 ]; do
		sleep 0.1
	done
	port=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' driver.log)
	look_at() {
		python3 "$SOURCE_DIR/tests/tools/report-browser.py" $port "$PWD/$1" >browser 2>&1
		ok $? "$1 in a browser: $(grep paint browser)"
		sed 's/^/#   /' browser
	}
	look_at page.html
	if [ -f $dygraphs ]; then
		"$reel" report --output zooms.html real.json >/dev/null
		look_at zooms.html
		look_at many.html
	else
		skip 'pages that zoom in a browser: there is no dygraphs'
	fi
	kill $driver
else
	skip 'a browser: there is no chromedriver'
fi
end
