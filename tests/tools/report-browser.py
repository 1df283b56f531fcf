# SPDX-License-Identifier: MIT
"""A page of reel report in a browser, by way of chromedriver: what it shows, and what one can do with it.

Usage: report-browser.py PORT FILE
"""
import json
import sys
import time
import urllib.request

base = f"http://127.0.0.1:{sys.argv[1]}"
checks = failures = 0


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]


def check(holds, what):
    global checks, failures
    checks += 1
    failures += not holds
    print(("" if holds else "not ") + "ok:", what)


options = {"args": ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,900"]}
session = call("POST", "/session", {"capabilities": {"alwaysMatch": {
    "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
at = "/session/" + session["sessionId"]


def run(script):
    return call("POST", at + "/execute/sync", {"script": script, "args": []})


def keys(text):
    figure = list(call("POST", at + "/element", {"using": "css selector", "value": "figure"}).values())[0]
    call("POST", f"{at}/element/{figure}/value", {"text": text})


def pointer(*moves):
    actions = [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(moves)}]
    call("POST", at + "/actions", {"actions": actions})


def stretch():
    # The scale changes with the next picture.
    time.sleep(0.2)
    return run("return [plots[0].scales.x.min, plots[0].scales.x.max]")


try:
    call("POST", at + "/url", {"url": "file://" + sys.argv[2]})
    data = run("return data")
    rows = run("return [...document.querySelectorAll('#sums tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    check(sorted((row[0], int(row[1])) for row in rows) == sorted((s["name"], s["count"]) for s in data["sums"]),
          f"the table has all {len(rows)} kinds of events")
    check(run("return document.querySelectorAll('#findings li').length") == len(data["findings"]) > 0,
          "it says what was slow")
    check(run("return plots.length === document.querySelectorAll('figure').length && plots.length > 2"),
          "each chart is drawn")
    check(run("return [...document.querySelectorAll('figure')].every((f) => f.getAttribute('aria-label') && "
              "f.querySelectorAll('details tbody tr').length > 0)"), "each chart has a name and a table")
    whole = stretch()
    keys("+")
    zoomed = stretch()
    check(zoomed[0] > whole[0] and zoomed[1] < whole[1], "a key zooms in")
    check(run("return new Set(plots.map((p) => p.scales.x.min)).size === 1"), "all charts show the same time")
    keys("0")
    check(stretch() == whole, "and another one shows all again")
    run("document.querySelector('button[data-key=\"+\"]').click()")
    check(stretch() == zoomed, "so does a button")
    run("document.querySelector('button[data-key=\"0\"]').click()")
    check(stretch() == whole, "and the one for all")
    box = run("plots[0].over.scrollIntoView({block: 'center'}); const b = plots[0].over.getBoundingClientRect();"
              "return [b.left, b.top, b.width, b.height]")
    y = round(box[1] + box[3] / 2)
    x = [round(box[0] + box[2] * part) for part in (0.25, 0.5)]
    pointer({"type": "pointerMove", "x": x[0], "y": y})
    time.sleep(0.2)
    check(run("return [...document.querySelector('.u-legend').querySelectorAll('.u-value')]"
              ".every((v) => /[0-9]/.test(v.textContent))"), "the pointer shows the values below it")
    pointer({"type": "pointerMove", "x": x[0], "y": y}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 100, "x": x[1], "y": y}, {"type": "pointerUp", "button": 0})
    zoomed = stretch()
    length = whole[1] - whole[0]
    check(abs(zoomed[0] - whole[0] - 0.25 * length) < 0.05 * length and
          abs(zoomed[1] - whole[0] - 0.5 * length) < 0.05 * length, "dragging zooms to what was dragged over")
    call("POST", at + "/window/rect", {"width": 400, "height": 800})
    time.sleep(1)
    check(run("return document.documentElement.scrollWidth <= window.innerWidth"), "it fits on a phone")
    paint = run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
    check(paint < 60000, f"the first paint came after {paint:.0f} ms")
    messages = [m["message"] for m in call("POST", at + "/se/log", {"type": "browser"})]
    check(not messages, f"the console is empty: {messages}")
finally:
    call("DELETE", at)
sys.exit(failures > 0)
