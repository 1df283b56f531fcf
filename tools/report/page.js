// SPDX-License-Identifier: MIT
// Draws the page from the figures that `reel report` has put into it.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const times = Array.from({ length: data.bins }, (_, i) => ((i + 0.5) * data.seconds) / data.bins);
// Colours that colour-blind readers can tell apart (Okabe and Ito).
const colours = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#777777", "#b8a800", "#000000"];
// What is shown of each track has one colour on all of them.
const colourOf = {
	advance: "#56b4e9", record: "#0072b2", reverse: "#009e73", lanes: "#0072b2", put: "#0072b2", get: "#56b4e9",
	"wait for memory": "#d55e00", "wait for a slab": "#e69f00", "wait for puts": "#cc79a7",
	"wait for threads": "#777777", "wait for a rank": "#b8a800",
};
const powersOfTwo = Array.from({ length: 51 }, (_, i) => 2 ** i);
const plots = [];

function bytes(number) {
	const units = ["", "K", "M", "G", "T", "P"];
	let unit = 0;
	while (Math.abs(number) >= 1024 && unit < units.length - 1) {
		number /= 1024;
		unit++;
	}
	return (number >= 100 || Number.isInteger(number) ? number.toFixed(0) : number.toPrecision(3)) + units[unit];
}

const share = (number) => (100 * number).toFixed(0) + " %";
const seconds = (number) => (number === 0 ? "0" : number >= 1000 ? number.toFixed(0) : number.toPrecision(4)) + " s";

function add(parent, tag, text) {
	const element = document.createElement(tag);
	if (text !== undefined)
		element.textContent = text;
	parent.append(element);
	return element;
}

// ---- Tables ----

function fillTable(table, titles, rows) {
	const head = add(add(table, "thead"), "tr");
	for (const title of titles)
		add(head, "th", title).scope = "col";
	const body = add(table, "tbody");
	for (const row of rows) {
		const line = add(body, "tr");
		row.forEach((cell, i) => {
			const element = add(line, i ? "td" : "th", cell);
			if (!i)
				element.scope = "row";
		});
	}
}

// ---- Charts ----

// All charts show the same stretch of time.
let isZooming = false;
function zoomTo(min, max) {
	if (isZooming)
		return;
	isZooming = true;
	min = Math.max(min, 0);
	max = Math.min(max, data.seconds);
	if (max - min > (2 * data.seconds) / data.bins)
		for (const plot of plots)
			plot.setScale("x", { min, max });
	isZooming = false;
}

function onKey(event) {
	const { min, max } = plots[0].scales.x;
	const quarter = (max - min) / 4;
	const stretches = {
		"+": [min + quarter, max - quarter],
		"-": [min - quarter * 2, max + quarter * 2],
		"0": [0, data.seconds],
		ArrowLeft: [Math.max(min - quarter, 0), Math.max(min - quarter, 0) + max - min],
		ArrowRight: [Math.min(max + quarter, data.seconds) - (max - min), Math.min(max + quarter, data.seconds)],
	};
	// The browser has keys of its own with Ctrl and Alt, and what lies within a chart has others.
	if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget)
		return;
	const key = event.currentTarget.dataset.key ?? event.key;
	if (key in stretches) {
		zoomTo(...stretches[key]);
		event.preventDefault();
	}
}

// Each series lies on those before it.
function stack(series) {
	let below = series[0].values.map(() => 0);
	return series.map((one) => (below = one.values.map((value, i) => below[i] + value)));
}

// The greatest value of each series, and when: for those who do not see the chart.
function describe(series, format) {
	return series.map((one) => {
		const greatest = one.values.reduce((best, value, i) => (value > one.values[best] ? i : best), 0);
		return [one.name, format(one.values[greatest] ?? 0), seconds(times[greatest])];
	});
}

function draw(title, note, series, format, options = {}) {
	const figure = add(document.getElementById("charts"), "figure");
	const caption = add(figure, "figcaption", title + " ");
	add(caption, "span", note);
	figure.tabIndex = 0;
	figure.setAttribute("role", "group");
	figure.setAttribute("aria-label", title + ". " + note);
	const place = add(figure, "div");
	place.setAttribute("aria-hidden", "true");
	const drawn = options.stacked ? stack(series) : series.map((one) => one.values);
	const colour = (one, i) => colourOf[one.name.replace(", planned", "")] ?? colours[i % colours.length];
	const width = () => Math.max(place.clientWidth, 280);
	const plot = new uPlot(
		{
			width: width(),
			height: options.height ?? 220,
			cursor: { sync: { key: "time" } },
			scales: { x: { time: false }, y: { range: (_, min, max) => [0, options.top ?? (max > 0 ? max * 1.05 : 1)] } },
			axes: [
				{ values: (_, ticks) => ticks.map((tick) => tick + " s") },
				{ values: (_, ticks) => ticks.map(format), size: 60, ...(format === bytes && { incrs: powersOfTwo }) },
			],
			series: [
				{ label: "time", value: (_, time) => (time === null ? "" : seconds(time)) },
				...series.map((one, i) => ({
					label: one.name,
					stroke: colour(one, i),
					fill: options.stacked ? colour(one, i) + "99" : undefined,
					dash: one.dash,
					points: { show: false },
					value: (_, __, ___, at) => (one.values[at] == null ? "-" : format(one.values[at])),
				})),
			],
			bands: options.stacked ? series.slice(1).map((_, i) => ({ series: [i + 2, i + 1] })) : [],
			hooks: { setScale: [(changed, key) => key === "x" && plots.includes(changed) &&
				zoomTo(changed.scales.x.min, changed.scales.x.max)] },
		},
		[times, ...drawn],
		place);
	plots.push(plot);
	plot.over.addEventListener("dblclick", () => zoomTo(0, data.seconds));
	figure.addEventListener("keydown", onKey);
	new ResizeObserver(() => plot.setSize({ width: width(), height: options.height ?? 220 })).observe(place);
	const details = add(figure, "details");
	add(details, "summary", "The greatest values");
	fillTable(add(details, "table"), ["", "greatest", "at"], describe(series, format));
}

// ---- The page ----

document.title = "Reel: " + data.program;
document.getElementById("title").textContent = "Reel: " + data.program;
document.getElementById("summary").textContent =
	`${seconds(data.seconds)}, ${data.events} events on ${data.tracks.length} tracks` +
	(data.dropped ? `; ${data.dropped} older events were dropped` : "");
for (const finding of data.findings)
	add(document.getElementById("findings"), "li", finding);

for (const pool of data.memory) {
	const series = [
		{ name: "on tapes, in parcels and in snapshots, in memory or not", values: pool.in_use },
		{ name: "in memory", values: pool.resident },
	];
	if (pool.hard_budget > 0)
		series.push({ name: "hard budget", values: times.map(() => pool.hard_budget), dash: [6, 4] });
	draw(data.memory.length > 1 ? `Memory of ${pool.name}` : "Memory", "bytes over time", series, bytes);
}
if (data.places.length)
	draw("Memory by line", "bytes on tapes over time, by the lines that pushed them", data.places, bytes, { stacked: true });
if (data.tapes.length)
	draw("Memory by tape", "bytes over time", data.tapes, bytes, { stacked: true });
if (data.traffic.some((one) => one.values.some((value) => value > 0)))
	draw("Store", "bytes a second to and from it", data.traffic, bytes);
if (data.plan.length)
	draw("Plan", "the step at which the run is, over time; dotted: as planned, if its costs were right",
		[...data.plan, ...data.drawn.map((one) => ({ ...one, name: one.name + ", planned", dash: [2, 4] }))],
		(step) => step.toFixed(0));
for (const track of data.tracks.filter((one) => one.kinds.length))
	draw(track.name, "share of the time", track.kinds, share, { stacked: true, height: 140, top: 1 });

for (const button of document.querySelectorAll("button[data-key]"))
	button.addEventListener("click", onKey);
zoomTo(0, data.seconds);

fillTable(document.getElementById("sums"), ["event", "number", "time", "longest", "bytes"],
	data.sums.map((sum) => [sum.name, String(sum.count), sum.seconds ? seconds(sum.seconds) : "",
		sum.longest ? seconds(sum.longest) : "", sum.bytes ? bytes(sum.bytes) : ""]));
if (data.lines.length) {
	document.getElementById("lines-section").hidden = false;
	fillTable(document.getElementById("lines"), ["line", "pushed", "at the peak", "share of the peak"],
		data.lines.map((line) => [line.function ? `${line.line}, ${line.function}` : line.line, bytes(line.pushed_bytes),
			bytes(line.bytes_at_peak), data.peak_bytes ? share(line.bytes_at_peak / data.peak_bytes) : ""]));
}
