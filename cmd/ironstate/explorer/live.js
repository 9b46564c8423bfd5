// The conductor's nodes in the explorer page: the list of nodes, the latest moves, and the stream of events. Texts of
// nodes are always inserted as text, never as HTML.
(() => {
	const { $, address, ask, choice, element, marks, nodesOf, number, since, time } = live;
	const { choose, data, extend, stateButton } = window.explorer;
	const shownMoves = 20;
	const filters = { failed: 'failed', maintenance: 'in maintenance', overdue: 'overdue' }; // the texts of the filters of the list
	let fleet = null; // the last event

	function nodeButton(n) {
		return element('button', {
			type: 'button', class: n.name ? 'node' : 'node unnamed', 'data-uuid': n.uuid, 'aria-pressed': choice.node === n.uuid,
			onclick: () => { choose({ node: n.uuid }); $('node-title').focus(); },
		}, n.name || n.uuid);
	}

	// --- additional parts of the page ---

	const parts = {
		status: element('p', { id: 'fleet', 'data-connection': 'connecting' }, 'connecting …'),
		trouble: element('p', { id: 'trouble', role: 'alert', hidden: '' }),
		nodes: element('section', { id: 'nodes', 'aria-labelledby': 'nodes-title' },
			element('h2', { id: 'nodes-title' }, 'Nodes'),
			element('div', { id: 'nodes-states', role: 'group', 'aria-label': 'Nodes by state' }),
			element('label', {}, 'Name or UUID ', element('input', { type: 'search', id: 'nodes-find', autocomplete: 'off', spellcheck: 'false' })),
			...Object.entries(filters).map(([key, text]) => element('label', { class: 'check' },
				element('input', { type: 'checkbox', id: `nodes-${key}` }), ` ${text}`)),
			element('ul', { id: 'nodes-list' }),
			element('p', { id: 'nodes-note' }),
			element('button', { type: 'button', id: 'nodes-more', hidden: '', onclick: () => list.more() }, 'More')),
		moves: element('section', { id: 'moves', 'aria-labelledby': 'moves-title' },
			element('h2', { id: 'moves-title' }, 'Latest transitions'),
			diagram.rates,
			element('p', { id: 'moves-none' }, 'No transition since this page was first opened.'),
			element('ol', { id: 'moves-list' })),
	};
	// The nodes are first in the page, and the diagram with its controls follows them.
	document.querySelector('header h1').after(parts.status, parts.trouble);
	document.querySelector('main').prepend(element('div', { id: 'fleet-nodes' }, parts.nodes, parts.moves), nodePanel.section,
		element('div', { id: 'machine' }, $('controls'), $('panels'), document.querySelector('aside'), document.querySelector('nav')));
	document.querySelector('.legend').append(
		element('li', {}, element('span', { class: 'number' }, '3'), ' nodes in the state'),
		element('li', {}, element('span', { class: 'line visited' }), ' timeline of the selected node'));
	$('series').closest('label').hidden = true; // the series is always the conductor's
	document.body.classList.add('live');

	// --- moves ---

	let waiting = []; // moves that are not listed while the pointer or the focus is in the list

	const key = (m) => `${m.uuid} ${m.at} ${m.to}`;

	function drawMoves(moves) {
		const items = $('moves-list');
		const listed = new Set([...[...items.children].map((li) => li.dataset.key), ...waiting.map(key)]); // the first event of a new stream repeats moves
		waiting = [...waiting, ...moves.filter((m) => !listed.has(key(m)))].slice(-shownMoves);
		if (waiting.length === 0 || items.matches(':hover, :focus-within')) return;
		items.prepend(...waiting.reverse().map((m) => element('li', { 'data-key': key(m) },
			time(m.at), ' ', nodeButton(m), ' ', stateButton(m.from), ' → ', stateButton(m.to))));
		waiting = [];
		while (items.children.length > shownMoves) items.lastChild.remove();
		$('moves-none').hidden = true;
	}

	for (const event of ['pointerleave', 'focusout']) $('moves-list').addEventListener(event, () => setTimeout(() => drawMoves([])));

	// --- the list of nodes ---

	const list = {
		asked: null, // the query of the shown list: a state and a search text
		nodes: [],
		next: '', // the position of the next page, empty for none
		pages: 0,
		abort: new AbortController(),
		timer: 0,

		// show shows the nodes of the selected state.
		show() {
			const asked = JSON.stringify(list.query());
			if (asked !== list.asked) {
				list.asked = asked;
				list.load(false);
			}
			list.title();
		},

		query() {
			return { state: choice.state, find: choice.search, ...Object.fromEntries(Object.keys(filters).map((key) => [key, choice[key]])) };
		},

		filtered() { return Object.keys(filters).filter((key) => choice[key]).map((key) => filters[key]); },

		title() {
			const n = !fleet ? null : choice.state ? fleet.counts[choice.state] || 0 : fleet.nodes;
			const which = [choice.state ? `Nodes in ${choice.state}` : 'All nodes', ...list.filtered()];
			$('nodes-title').textContent = which.join(', ') + (n === null || which.length > 1 ? '' : `: ${number(n)}`);
		},

		// drawStates draws a button for each state that has nodes, and one for all nodes. It keeps the buttons that are
		// there, so that a click on one of them is not lost.
		drawStates() {
			const counts = fleet ? fleet.counts : {};
			const box = $('nodes-states');
			const names = ['', ...data.states.map((s) => s.name).filter((name) => counts[name] || name === choice.state)];
			const buttons = names.map((name) => [...box.children].find((b) => b.dataset.state === name) || list.stateFilter(name));
			for (const b of buttons) {
				const name = b.dataset.state;
				b.querySelector('.number').textContent = number(name ? counts[name] || 0 : fleet ? fleet.nodes : 0);
				if (choice.state === name) b.setAttribute('aria-current', 'true');
				else b.removeAttribute('aria-current');
			}
			if (buttons.length === box.children.length && buttons.every((b, i) => b === box.children[i])) return;
			const focused = box.contains(document.activeElement) ? document.activeElement : null;
			box.replaceChildren(...buttons);
			if (focused) focused.focus();
		},

		stateFilter(name) {
			const button = name ? stateButton(name) : element('button', { type: 'button', class: 'state', 'data-state': '', onclick: () => choose({ state: '' }) }, 'all');
			button.append(' ', element('span', { class: 'number' }));
			return button;
		},

		more() { list.load(true); },

		async load(further) {
			list.abort.abort();
			const { signal } = list.abort = new AbortController();
			clearTimeout(list.timer);
			list.timer = 0;
			const query = new URLSearchParams(list.query());
			if (further) query.set('after', list.next);
			try {
				const answer = await ask(`nodes?${query}`, signal);
				list.nodes = further ? [...list.nodes, ...answer.nodes.filter((n) => !list.nodes.some((m) => m.uuid === n.uuid))] : answer.nodes;
				list.pages = further ? list.pages + 1 : 1;
				list.next = answer.next;
				list.draw();
			} catch (error) {
				if (!signal.aborted) $('nodes-note').textContent = `The nodes could not be read: ${error.message}`;
			}
		},

		draw() {
			const items = list.nodes.map((n) => element('li', { class: n.overdue ? 'late' : null },
				nodeButton(n), choice.state ? '' : stateButton(n.state),
				element('span', { class: 'age' }, ...marks(n), n.since ? since(n.since) : ''),
				n.last_error ? element('div', { class: 'note' }, n.last_error) : ''));
			const focused = document.activeElement.closest && document.activeElement.closest('#nodes-list') ? document.activeElement.dataset.uuid : '';
			$('nodes-list').replaceChildren(...items);
			if (focused) [...$('nodes-list').querySelectorAll('.node')].filter((b) => b.dataset.uuid === focused).forEach((b) => b.focus());
			$('nodes-note').textContent = list.nodes.length ? '' : choice.search ? 'No node has this text in its name or UUID.' : list.filtered().length ? 'No such node.' : 'No nodes.';
			$('nodes-more').hidden = !list.next;
		},

		// refresh reloads the list after a second, unless it has more than one page.
		refresh() {
			if (!list.timer && list.pages < 2) list.timer = setTimeout(() => list.load(false), 1000);
		},
	};

	let typing = 0;
	$('nodes-find').addEventListener('input', () => {
		clearTimeout(typing);
		typing = setTimeout(() => choose({ search: $('nodes-find').value }), 200);
	});

	for (const key of Object.keys(filters)) {
		$(`nodes-${key}`).addEventListener('change', (event) => choose({ [key]: event.target.checked ? '1' : '' }));
	}

	// --- the stream of events ---

	const sayInterval = 10000; // milliseconds
	const said = { at: 0, moved: 0, last: null, timer: 0 };

	// say announces moves to screen readers, at most once per sayInterval.
	function say(event) {
		if (event.moved === 0) return;
		said.moved += event.moved;
		said.last = event.moves[event.moves.length - 1] || said.last;
		if (!said.timer) said.timer = setTimeout(sayNow, Math.max(0, said.at + sayInterval - Date.now()));
	}

	function sayNow() {
		const { last } = said;
		$('live').textContent = `${nodesOf(said.moved)} changed state${last ? `, the latest is ${last.name || last.uuid}, now ${last.to}` : ''}.`;
		Object.assign(said, { at: Date.now(), moved: 0, timer: 0 });
	}

	// status shows the state of the connection: connecting, connected or lost.
	function status(text, connection) {
		parts.status.textContent = text;
		parts.status.dataset.connection = connection;
		document.body.classList.toggle('stale', connection === 'lost');
	}

	// warn shows why changes are refused.
	function warn(trouble) {
		const old = trouble === 'no majority' ? ' What this page shows may be out of date.' : '';
		const text = trouble ? `Changes are refused: ${trouble}.${old}` : '';
		if (parts.trouble.textContent !== text) parts.trouble.textContent = text;
		parts.trouble.hidden = !trouble;
	}

	function take(event) {
		const before = fleet;
		fleet = event;
		document.title = document.querySelector('h1').textContent = event.title;
		if (!before || before.series !== event.series) extend(event.series, names, shown);
		status(`${nodesOf(event.nodes)}, live. Conductor ${event.conductor}, ${event.series}.`, 'connected');
		warn(event.trouble);
		diagram.drawCounts(event.counts);
		diagram.drawTransitions(event.transitions);
		drawMoves(event.moves);
		diagram.drawRates(event);
		list.drawStates();
		list.title();
		if (before) list.refresh();
		if (event.moves.some((m) => m.uuid === nodePanel.uuid())) nodePanel.load();
		say(event);
	}

	let stream = null;

	// connect opens a stream unless one is open or the page is hidden. A hidden page has no stream,
	// because browsers limit the number of connections to a server.
	function connect() {
		if (document.hidden || (stream && stream.readyState !== EventSource.CLOSED)) return;
		stream = new EventSource(address('events'));
		stream.onmessage = (message) => take(JSON.parse(message.data));
		stream.onerror = () => {
			const last = fleet ? ' The numbers are from the last update.' : '';
			status(`No connection to the conductor, retrying.${last}`, 'lost');
			if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 10000);
		};
	}

	document.addEventListener('visibilitychange', () => {
		if (document.hidden) {
			if (stream) stream.close();
			status('connecting …', 'connecting'); // what a reader sees who comes back
			return;
		}
		connect();
		nodePanel.load();
	});

	const names = ['node', 'search', ...Object.keys(filters)];

	function shown() {
		if ($('nodes-find').value !== choice.search) $('nodes-find').value = choice.search;
		for (const key of Object.keys(filters)) $(`nodes-${key}`).checked = choice[key] !== '';
		diagram.drawCounts(fleet && fleet.counts);
		list.drawStates();
		list.show();
		nodePanel.show();
	}

	// A hidden diagram has no sizes by which its numbers could be placed; see live.css for the width.
	matchMedia('(width < 700px)').addEventListener('change', () => diagram.drawCounts(fleet && fleet.counts));

	extend('', names, shown);
	setInterval(() => { if (!document.hidden) nodePanel.load(); }, 5000);
	setInterval(() => { if (!document.hidden) list.refresh(); }, 10000); // no event says that a node has become overdue
	connect();
})();
