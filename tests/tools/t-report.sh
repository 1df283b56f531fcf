#!/bin/sh
# SPDX-License-Identifier: MIT
# reel report: the figures of a page are those of its traces, names are escaped, what is refused, and the page in
# a browser.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel
python3 -c '' 2>/dev/null || skip_all 'there is no python3'

# A trace of two threads and a store: lines as the library writes them.
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
	echo '{"name":"half written","ph":"X","pid":7,"ti'
} >trace.json

if "$reel" report trace.json 2>&1 | grep -q with-uplot; then
	"$reel" report trace.json >/dev/null 2>&1
	[ $? -eq 1 ] && [ ! -e report.html ]
	ok $? 'without a library to draw with, a report is refused'
	end
	exit
fi
"$reel" report --output page.html trace.json >said && grep -q '^page.html: open it in a browser$' said
ok $? 'a page is made'
cat >look.py <<'PROGRAM'
import json, re, sys
text = open(sys.argv[1]).read()
data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
sums = {s["name"]: s for s in data["sums"]}
exec(sys.argv[2])
PROGRAM
look() {
	python3 look.py page.html "$1"
	ok $? "$2"
}
look 'assert sums["wait for memory"]["count"] == 2 and abs(sums["wait for memory"]["seconds"] - 0.002000001) < 1e-12' \
	'waits, to the nanosecond'
look 'assert abs(sums["wait for memory"]["longest"] - 0.0015) < 1e-12' 'and the longest'
look 'assert sums["put"]["bytes"] == 2097152 and abs(data["seconds"] - 0.009) < 1e-12' 'bytes, and the stretch of time'
look 'm = data["memory"][0]; assert max(m["in_use"]) == 8388608 and m["resident"][0] == 0 and m["resident"][-1] == 4194304 and m["hard_budget"] == 4194304' \
	'memory over time, and its budget'
look 'v = data["traffic"][0]["values"]; assert abs(sum(v) * data["seconds"] / data["bins"] - 2097152) < 2000' \
	'traffic of the store'
look 'm = [t for t in data["tracks"] if t["name"] == "main thread"][0]; k = [k for k in m["kinds"] if k["name"] == "wait for memory"][0]
assert abs(sum(k["values"]) * data["seconds"] / data["bins"] - 0.002) < 2e-5' 'what a thread waited for'
look 'p = {s["name"]: s["values"] for s in data["plan"]}; assert max(v for v in p["advance"] if v) > 9.5 and p["reverse"][-1] < 9.5' \
	'the plan as it was carried out'
look 'assert any("Pushes waited 0.002 s for memory, 22 %" in f for f in data["findings"])' 'and in words'
look 'assert any("none were read back" in f for f in data["findings"]) and any("67 % of the time of the plan" in f for f in data["findings"])' \
	'what the store and the plan say'
look 'assert data["program"] == "</script><b>" and text.count("</script>") == 3' 'hostile names do not end the data'
grep -qE '(src|href)=|https?://[a-z]' page.html
[ $? -ne 0 ] || ! grep -oE '(src|href)="[^"]*"|@import|fetch\(' page.html | grep -q .
ok $? 'the page asks for nothing'
sed 's/"pid":7/"pid":8/g' trace.json >other.json
"$reel" report --output page.html trace.json other.json >/dev/null
look 'assert sums["put"]["count"] == 2 and len(data["memory"]) == 2 and any(t["name"] == "main thread of process 8" for t in data["tracks"])' \
	'two processes on one page'
echo 'reel profile 1
peak 100
place 2 300 100 at <i>.c:7' >profile
"$reel" report --profile profile --output page.html trace.json >/dev/null
look 'assert data["lines"] == [{"line": "<i>.c:7", "function": "", "pushed_bytes": 300, "bytes_at_peak": 100}] and data["peak_bytes"] == 100' \
	'lines of a profile'

awk 'BEGIN {
	print "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":7,\"args\":{\"name\":\"program\"}},"
	for (i = 0; i < '"${TEST_LONG:+1000000}"'0 + 100000; i++)
		printf "{\"name\":\"put\",\"ph\":\"X\",\"pid\":7,\"tid\":%d,\"cat\":\"store\",\"ts\":%d.5,\"dur\":3.25,\"args\":{\"pool\":1,\"tape\":%d,\"bytes\":4096}},\n",
			i % 100, i * 10, i % 1000
}' >many.json
"$reel" report --output many.html many.json >/dev/null && [ "$(wc -c <many.html)" -lt 5000000 ]
ok $? "many events make a page of $(wc -c <many.html) bytes"

is_refused "'reel report --help'" "$reel" report
ok $? 'no trace is refused'
is_refused 'unknown option' "$reel" report --colour trace.json
ok $? 'an unknown option is refused'
is_refused 'needs a file' "$reel" report --output
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

if command -v chromedriver >/dev/null; then
	port=$((20000 + $$ % 20000))
	chromedriver --port=$port >driver.log 2>&1 &
	driver=$!
	sleep 1
	python3 "$SOURCE_DIR/tests/tools/report-browser.py" $port "$PWD/page.html" >browser 2>&1
	ok $? 'the page in a browser'
	sed 's/^/#   /' browser
	python3 "$SOURCE_DIR/tests/tools/report-browser.py" $port "$PWD/many.html" >browser 2>&1
	ok $? "that of many events in a browser: $(grep paint browser)"
	kill $driver
else
	skip 'a browser: there is no chromedriver'
fi
end
