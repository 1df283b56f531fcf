/* SPDX-License-Identifier: MIT */
/* Finds names of names.js: those that begin with what was typed, then those that contain it. */
(function () {
	"use strict";

	var MAX_FOUND = 20;
	var root = document.body.dataset.root;
	var input = document.getElementById("search");
	var list = document.getElementById("found");

	function found(text) {
		var begins = [], contains = [];

		text = text.trim().toLowerCase();
		names.forEach(function (name) {
			var at = name[0].toLowerCase().replace(/^reel_/, "").indexOf(text);

			if (!text)
				return;
			if (at === 0 || name[0].toLowerCase().indexOf(text) === 0)
				begins.push(name);
			else if (at > 0 || name[2].toLowerCase().indexOf(text) >= 0)
				contains.push(name);
		});
		return begins.concat(contains).slice(0, MAX_FOUND);
	}

	function entry(name) {
		var item = document.createElement("li");
		var link = document.createElement("a");

		link.href = root + name[1];
		link.textContent = name[0];
		link.title = name[2];
		item.appendChild(link);
		return item;
	}

	input.addEventListener("input", function () {
		list.replaceChildren.apply(list, found(input.value).map(entry));
	});
	input.addEventListener("keydown", function (event) {
		if (event.key === "Enter" && list.firstChild)
			location.href = list.firstChild.firstChild.href;
	});
	document.addEventListener("keydown", function (event) {
		if (event.key === "/" && document.activeElement !== input) {
			event.preventDefault();
			input.focus();
		}
	});
})();
