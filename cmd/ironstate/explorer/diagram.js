// The conductor's nodes in the diagram and in the list of states: counts, transitions, and the
// timeline of one node. Texts of nodes are always inserted as text, never as HTML.
const diagram = (() => {
	const { edges, element, states } = window.explorer;
	const reducedMotion = window.matchMedia('(prefers-reduced-motion: reduce)');
	const { nodesOf, number } = live;

	function svg(name, attributes = {}, ...children) {
		const e = document.createElementNS('http://www.w3.org/2000/svg', name);
		for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
		e.append(...children);
		return e;
	}

	// --- counts ---

	const badges = new Map();
	for (const [name, g] of states) {
		const badge = { name, g, label: g.getAttribute('aria-label'), box: svg('rect', { rx: 7, height: 14 }), text: svg('text', { 'text-anchor': 'middle', 'font-size': 10 }) };
		badge.group = svg('g', { class: 'number', 'aria-hidden': 'true' }, badge.box, badge.text);
		badges.set(name, badge);
	}

	// drawBadge draws the number of nodes at the upper right corner of a state's box.
	function drawBadge({ name, g, label, box, text, group }, counts) {
		const n = (counts && counts[name]) || 0;
		g.setAttribute('aria-label', counts ? `${label}, ${nodesOf(n)}` : label);
		if (n === 0 || g.classList.contains('absent')) {
			group.remove();
			return;
		}
		const state = g.querySelector(':scope > path').getBBox();
		text.textContent = number(n);
		const width = 8 + 6 * text.textContent.length;
		const x = state.x + state.width - width + 6;
		box.setAttribute('x', x);
		box.setAttribute('y', state.y - 11);
		box.setAttribute('width', width);
		text.setAttribute('x', x + width / 2);
		text.setAttribute('y', state.y - 0.5);
		if (!group.parentNode) g.append(group);
	}

	// drawCounts draws the number of nodes by state. counts is null before the first event.
	function drawCounts(counts) {
		badges.forEach((badge) => drawBadge(badge, counts));
		for (const button of document.querySelectorAll('#list button.state')) {
			const n = (counts && counts[button.dataset.state]) || 0;
			const old = button.querySelector('.number');
			if (n === 0 && old) old.remove();
			else if (n > 0 && old) old.textContent = number(n);
			else if (n > 0) button.append(' ', element('span', { class: 'number' }, number(n)));
		}
	}

	// --- transitions ---

	const flashes = new Map();

	// flash gives a group of the diagram a class for 1.5 s.
	function flash(g, name) {
		clearTimeout(flashes.get(g));
		g.classList.add(name);
		flashes.set(g, setTimeout(() => { flashes.delete(g); g.classList.remove(name); }, 1500));
	}

	const animated = new Set();

	// animate moves a dot along an edge within 0.9 s, at most one dot per edge at a time.
	function animate(g) {
		const path = g.querySelector('path');
		if (reducedMotion.matches || document.hidden || animated.has(g) || !path) return;
		animated.add(g);
		const dot = svg('circle', { class: 'dot', r: 5 });
		const length = path.getTotalLength();
		let begun = null;
		const step = (now) => {
			begun = begun ?? now;
			const part = Math.min(1, (now - begun) / 900);
			const { x, y } = path.getPointAtLength(length * part);
			dot.setAttribute('cx', x);
			dot.setAttribute('cy', y);
			if (begun === now) g.append(dot);
			if (part < 1) requestAnimationFrame(step);
			else {
				dot.remove();
				animated.delete(g);
			}
		};
		requestAnimationFrame(step);
	}

	// drawTransitions highlights transitions that nodes have just made.
	function drawTransitions(transitions) {
		for (const { from, to } of transitions) {
			const edge = edges.get(`${from} ${to}`);
			const state = states.get(to);
			if (edge && !edge.classList.contains('absent')) {
				flash(edge, 'fired');
				animate(edge);
			}
			if (state) flash(state, 'reached');
		}
	}

	// drawTimeline highlights the transitions of a node's timeline and its current state, empty for no node.
	function drawTimeline(transitions, current) {
		for (const g of document.querySelectorAll('#main .visited')) g.classList.remove('visited');
		if (states.has(current)) states.get(current).classList.add('visited');
		for (const { from, to } of transitions) {
			const edge = edges.get(`${from} ${to}`);
			if (edge) edge.classList.add('visited');
		}
	}

	// --- rates ---

	const rates = element('figure', { id: 'rates' }, element('figcaption'), svg('svg', { 'aria-hidden': 'true', preserveAspectRatio: 'none' }));
	let rated = null; // the last event, with the time at which it was received

	// drawRates draws a bar for the transitions in each of the last minutes. Without an event it
	// draws the bars of the last event again, with the minutes that have passed since.
	function drawRates(event) {
		rated = event ? { event, at: performance.now() } : rated;
		if (!rated) return;
		const past = Math.floor((rated.event.second + (performance.now() - rated.at) / 1000) / 60);
		const counts = [...rated.event.rates, ...Array(past).fill(0)].slice(-rated.event.rates.length);
		const most = Math.max(...counts);
		const [caption, picture] = rates.children;
		const text = `${number(counts[counts.length - 1])} transitions in this minute, at most ${number(most)} a minute in the last ${counts.length} minutes`;
		if (caption.textContent !== text) caption.textContent = text;
		picture.setAttribute('viewBox', `0 0 ${counts.length} 1`);
		picture.replaceChildren(...counts.map((n, i) => svg('rect', { x: i + 0.1, width: 0.8, y: 1 - n / (most || 1), height: n / (most || 1) })));
	}

	setInterval(() => drawRates(), 5000);

	return { drawCounts, drawRates, drawTimeline, drawTransitions, rates };
})();
