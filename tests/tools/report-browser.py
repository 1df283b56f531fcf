# SPDX-License-Identifier: MIT
"""Checks what a page of reel report shows in a browser (by chromedriver), and, with dygraphs, that it zooms.

Usage: report-browser.py PORT FILE
"""
import json
import re
import sys
import time
import urllib.request

base = f"http://127.0.0.1:{sys.argv[1]}"
checks = failures = 0


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
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
    return run("return charts[0].xAxisRange()")


def show_the_same():
    return run("return new Set(charts.map((chart) => chart.xAxisRange()[0])).size === 1")


def luminance(colour):
    """The relative luminance, as in WCAG, of a colour "rgb(r, g, b)"."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    return sum(share * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
               for share, c in zip((0.2126, 0.7152, 0.0722), parts))


def contrasts(scheme):
    """The least contrasts of the texts and of the lines of charts to the background, and whether that is dark."""
    call("POST", at + "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]}})
    behind = luminance(run("""const probe = document.body.appendChild(document.createElement("p"));
        probe.style.color = "Canvas"; const colour = getComputedStyle(probe).color; probe.remove(); return colour"""))
    colours = run("""const of = (list, what) => [...document.querySelectorAll(list)].map((e) => getComputedStyle(e)[what]);
        return [[...of("figcaption, .legend", "color"), ...of(".plot text", "fill"), ...of(".dygraph-axis-label", "color")],
                of(".legend i", "borderTopColor")]""")
    return [min((max(behind, light) + 0.05) / (min(behind, light) + 0.05) for light in map(luminance, part))
            for part in colours], behind < 0.2


def look_at_pictures():
    check(run("""return [...document.querySelectorAll("figure")].every((f) => {
        const lines = f.querySelectorAll("tbody tr").length, plot = f.querySelector(".plot svg").getBoundingClientRect();
        const inside = (b) => b.left > 0 && b.right < innerWidth && b.top > f.getBoundingClientRect().top &&
            b.bottom < f.querySelector(".legend").getBoundingClientRect().top;
        const paths = [...f.querySelectorAll("path")], texts = [...f.querySelectorAll("svg text")];
        return plot.width > 500 && plot.height > 100 && paths.length === lines && texts.length > 5 &&
            f.querySelectorAll(".legend i").length === lines &&
            [...paths, ...texts].every((e) => inside(e.getBoundingClientRect())) &&
            paths.some((e) => e.getBoundingClientRect().width > plot.width / 500 && e.getTotalLength() > 1);
    })"""), "each chart is a picture, with a line and an entry of the legend for each name, and axes, all in its place")
    check(run("return document.querySelectorAll('canvas, button').length === 0"), "nothing on the page needs a script")


def look_at_charts():
    check(run("return charts.length === document.querySelectorAll('figure').length && charts.length > 2"),
          "each chart is drawn")
    check(run("""return charts.every((chart, i) => {
        const figure = document.querySelectorAll("figure")[i], names = [...figure.querySelectorAll("tbody th")];
        const canvas = figure.querySelector("canvas").getContext("2d");
        const size = [canvas.canvas.width, canvas.canvas.height];
        return chart.numRows() === 500 && chart.numColumns() === names.length + 1 &&
            chart.getLabels().slice(1).join() === names.map((n) => n.textContent).join() &&
            !figure.querySelector("svg") && canvas.getImageData(0, 0, ...size).data.some((part) => part > 0);
    })"""), "dygraphs draws it, with 500 values for each name")


def look_at_zoom():
    whole = stretch()
    keys("+")
    zoomed = stretch()
    check(zoomed[0] > whole[0] and zoomed[1] < whole[1], "a key zooms in")
    check(show_the_same(), "all charts show the same time")
    keys("0")
    check(stretch() == whole, "another key shows all again")
    run("document.querySelector('button[data-key=\"+\"]').click()")
    check(stretch() == zoomed, "a button zooms in")
    run("document.querySelector('button[data-key=\"0\"]').click()")
    check(stretch() == whole, "another button shows all again")
    box = run("const plot = document.querySelector('.plot'); plot.scrollIntoView({block: 'center'});"
              "const b = plot.getBoundingClientRect(), area = charts[0].getArea();"
              "return [b.left + area.x, b.top + area.y, area.w, area.h]")
    y = round(box[1] + box[3] / 2)
    x = [round(box[0] + box[2] * part) for part in (0.25, 0.5)]
    pointer({"type": "pointerMove", "x": x[0], "y": y})
    time.sleep(0.2)
    check(run("return [...document.querySelectorAll('figure:first-of-type .legend b')].every((v) => /[0-9]/.test(v.textContent))"),
          "the pointer shows the values below it")
    pointer({"type": "pointerMove", "x": x[0], "y": y}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 100, "x": x[1], "y": y}, {"type": "pointerUp", "button": 0})
    zoomed = stretch()
    length = whole[1] - whole[0]
    check(abs(zoomed[0] - whole[0] - 0.25 * length) < 0.05 * length and
          abs(zoomed[1] - whole[0] - 0.5 * length) < 0.05 * length, "dragging zooms to what was dragged over")
    check(show_the_same(), "all charts zoom with it")


try:
    call("POST", at + "/url", {"url": "file://" + sys.argv[2]})
    check(run("return document.querySelectorAll('#findings li').length > 0 && document.querySelectorAll('#sums td').length > 3"),
          "it says what was slow, and has a table of events")
    check(run("return [...document.querySelectorAll('figure')].every((f) => f.querySelectorAll('details tbody tr').length > 0)"),
          "each chart has a table")
    if run("return document.scripts.length > document.querySelectorAll('figure').length"):
        look_at_charts()
        look_at_zoom()
    else:
        look_at_pictures()
    for scheme in "light", "dark":
        (texts, lines), is_dark = contrasts(scheme)
        check(texts > 4.5 and lines > 2 and is_dark == (scheme == "dark"), f"it can be read in {scheme} mode: {texts:.1f}, {lines:.1f}")
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
