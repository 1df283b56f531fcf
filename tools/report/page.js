// SPDX-License-Identifier: MIT
// Puts a chart of dygraphs, which zooms, in the place of each picture. Its figures are those of the page.
"use strict";

const whole = [0, 0];
const charts = [];

function bytes(number) {
	const units = ["", "K", "M", "G", "T", "P"];
	let unit = 0;
	for (; Math.abs(number) >= 1024 && unit < units.length - 1; unit++)
		number /= 1024;
	return (number >= 100 ? number.toFixed(0) : Number(number.toPrecision(3))) + units[unit];
}

const formats = {
	bytes,
	share: (number) => (100 * number).toFixed(0) + " %",
	steps: (number) => number.toFixed(0),
};
const seconds = (number) => Number(number.toPrecision(4)) + " s";

// All charts show the same stretch of time, of at least two bins.
let isZooming = false;
function zoomTo(min, max) {
	const stretch = [Math.max(min, whole[0]), Math.min(max, whole[1])];
	if (isZooming || stretch[1] - stretch[0] < whole[1] / 250)
		return;
	isZooming = true;
	for (const chart of charts)
		chart.updateOptions({ dateWindow: stretch });
	isZooming = false;
}

function onKey(event) {
	const [min, max] = charts[0].xAxisRange();
	const quarter = (max - min) / 4;
	const earlier = Math.min(quarter, min - whole[0]), later = Math.min(quarter, whole[1] - max);
	const stretches = {
		"+": [min + quarter, max - quarter],
		"-": [min - quarter * 2, max + quarter * 2],
		"0": whole,
		ArrowLeft: [min - earlier, max - earlier],
		ArrowRight: [min + later, max + later],
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

function draw(figure) {
	const { unit, stacked, top, rows } = JSON.parse(figure.querySelector("script").textContent);
	const plot = figure.querySelector(".plot");
	const names = [...figure.querySelectorAll("tbody th")].map((cell) => cell.textContent);
	const paths = [...plot.querySelectorAll("path")];
	const swatches = [...figure.querySelectorAll(".legend i")].map((swatch) => swatch.outerHTML);
	const format = formats[unit];
	const chart = new Dygraph(plot, rows, {
		labels: ["time", ...names],
		colors: paths.map((path) => path.getAttribute(stacked ? "fill" : "stroke")),
		series: Object.fromEntries(names.map((name, i) =>
			[name, { strokePattern: paths[i].classList.contains("dashed") ? [6, 4] : null }])),
		stackedGraph: stacked,
		fillAlpha: 0.6,
		valueRange: [0, top],
		dateWindow: whole,
		axes: {
			x: { axisLabelFormatter: seconds, valueFormatter: seconds },
			y: { axisLabelFormatter: format, valueFormatter: format, labelsKMG2: unit === "bytes" },
		},
		axisLabelWidth: 60,
		axisLineColor: "#808080",
		gridLineColor: "#80808066",
		legend: "always",
		labelsDiv: figure.querySelector(".legend"),
		legendFormatter: ({ series, xHTML }) => series.map((one, i) =>
			`<span>${swatches[i]} ${one.labelHTML} <b>${one.yHTML ?? ""}</b></span>`).join(" ") + (xHTML ?? ""),
		drawCallback: (drawn, isFirst) => isFirst || zoomTo(...drawn.xAxisRange()),
	});
	charts.push(chart);
	plot.setAttribute("aria-hidden", "true");
	figure.tabIndex = 0;
	figure.setAttribute("role", "group");
	figure.setAttribute("aria-label", figure.querySelector("figcaption").textContent);
	figure.addEventListener("keydown", onKey);
}

const figures = [...document.querySelectorAll("figure")];
document.getElementById("charts").insertAdjacentHTML("afterend", `<p class="help">
<button type="button" data-key="+">Zoom in</button> <button type="button" data-key="-">Zoom out</button>
<button type="button" data-key="ArrowLeft">Earlier</button> <button type="button" data-key="ArrowRight">Later</button>
<button type="button" data-key="0">All</button><br>
With a mouse, drag over a chart to zoom, and double-click to see all again. With the keyboard, Tab to a chart, then
<kbd>+</kbd> <kbd>-</kbd> <kbd>&larr;</kbd> <kbd>&rarr;</kbd> <kbd>0</kbd>. All charts show the same stretch of time.</p>`);
whole[1] = Number(document.getElementById("charts").dataset.seconds);
figures.forEach(draw);
for (const button of document.querySelectorAll("button[data-key]"))
	button.addEventListener("click", onKey);
