'use strict';
// What the scripts of the live page share: requests to the server, and texts for times and numbers.
const live = (() => {
	const { choice, element, model } = window.explorer;
	const $ = (id) => document.getElementById(id);
	const number = (n) => new Intl.NumberFormat('en').format(n);
	const nodesOf = (n) => `${number(n)} ${n === 1 ? 'node' : 'nodes'}`;
	const address = (path) => new URL(`explorer/${path}`, location.origin + location.pathname); // without the user name and password of the URL
	let skew = 0; // milliseconds from the browser's clock to the server's

	async function ask(path, signal) {
		const response = await fetch(address(path), { signal, headers: { Accept: 'application/json' } });
		skew = Date.parse(response.headers.get('Date')) - Date.now() || 0;
		const answer = await response.json();
		if (!response.ok) throw new Error(answer.error || response.statusText);
		return answer;
	}

	// duration returns a number of seconds in its two largest units, as in "2 h 5 min".
	function duration(seconds) {
		if (seconds < 1) return 'under 1 s';
		const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
		const first = units.findIndex(([size]) => seconds >= size);
		const texts = [];
		let rest = Math.floor(seconds);
		for (const [size, name] of units.slice(first, first + 2)) {
			if (rest >= size) texts.push(`${Math.floor(rest / size)} ${name}`);
			rest %= size;
		}
		return texts.join(' ');
	}

	const age = (text) => duration((Date.now() + skew - Date.parse(text)) / 1000);

	// since returns an element with the time since a time, which it keeps up to date.
	const since = (text) => element('time', { datetime: text, title: moment(text), 'data-since': text }, age(text));

	function tick() {
		for (const e of document.querySelectorAll('[data-since]')) {
			const text = age(e.dataset.since);
			if (e.textContent !== text) e.textContent = text;
		}
	}

	// moment returns a time as a text: without the date if it is today, else without the seconds.
	function moment(text) {
		const at = new Date(text);
		if (at.toDateString() === new Date().toDateString()) return at.toLocaleTimeString('en-GB');
		return at.toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
	}

	const time = (text) => element('time', { datetime: text, title: new Date(text).toLocaleString('en-GB') }, moment(text));

	// marked splits a text at backquotes and returns the quoted parts as code elements.
	const marked = (text) => text.split('`').map((piece, n) => (n % 2 ? element('code', {}, piece) : piece));

	// marks returns what is special about a node: that it is overdue, in maintenance, or both.
	const marks = (n) => [
		...(n.overdue ? [' ', element('span', { class: 'mark overdue' }, 'overdue'), ' '] : []),
		...(n.maintenance ? [' ', element('span', { class: 'mark' }, 'maintenance'), ' '] : []),
	];

	setInterval(tick, 1000);

	return { $, address, ask, choice, duration, element, marked, marks, model, nodesOf, number, since, time };
})();
