// The conductor's nodes in the explorer page: the list of nodes, one node, the latest moves, and the
// stream of events. Texts of nodes are always inserted as text, never as HTML.
(() => {
	const { element, choice, choose, extend, model, stateButton } = window.explorer;
	const { nodesOf, number } = diagram;
	const $ = (id) => document.getElementById(id);
	const address = (path) => new URL(`explorer/${path}`, location.origin + location.pathname); // without the user name and password of the URL
	const shownMoves = 20;
	let fleet = null; // the last event

	// time returns an element with a time: without the date if it is today.
	function time(text) {
		const at = new Date(text);
		const today = at.toDateString() === new Date().toDateString();
		return element('time', { datetime: text }, today ? at.toLocaleTimeString('en-GB') : at.toLocaleString('en-GB'));
	}

	function nodeButton(n, state) {
		return element('button', {
			type: 'button', class: 'node', 'data-uuid': n.uuid, 'aria-pressed': choice.node === n.uuid,
			onclick: () => { choose({ node: n.uuid, state }); $('node-title').focus(); },
		}, n.name || n.uuid);
	}

	// marked splits a text at backquotes and returns the quoted parts as code elements.
	const marked = (text) => text.split('`').map((piece, n) => (n % 2 ? element('code', {}, piece) : piece));

	async function ask(path, signal) {
		const response = await fetch(address(path), { signal, headers: { Accept: 'application/json' } });
		const answer = await response.json();
		if (!response.ok) throw new Error(answer.error || response.statusText);
		return answer;
	}

	// --- additional parts of the page ---

	const parts = {
		status: element('p', { id: 'fleet' }, 'connecting …'),
		node: element('section', { id: 'node', 'aria-labelledby': 'node-title', hidden: '' },
			element('div', { class: 'head' }, element('h2', { id: 'node-title', tabindex: '-1' }),
				element('button', { type: 'button', id: 'node-close', 'aria-label': 'Close the node', onclick: () => choose({ node: '', from: '', goal: '' }) }, '×')),
			element('div', { id: 'node-body' })),
		nodes: element('section', { id: 'nodes', 'aria-labelledby': 'nodes-title' },
			element('h2', { id: 'nodes-title' }, 'Nodes'),
			element('label', {}, 'Name or UUID ', element('input', { type: 'search', id: 'nodes-find', autocomplete: 'off', spellcheck: 'false' })),
			...['failed', 'maintenance'].map((key) => element('label', { class: 'check' },
				element('input', { type: 'checkbox', id: `nodes-${key}` }), key === 'failed' ? ' failed ' : ' in maintenance')),
			element('ul', { id: 'nodes-list' }),
			element('p', { id: 'nodes-note' }),
			element('button', { type: 'button', id: 'nodes-more', hidden: '', onclick: () => list.more() }, 'More')),
		moves: element('section', { id: 'moves', 'aria-labelledby': 'moves-title' },
			element('h2', { id: 'moves-title' }, 'Latest transitions'),
			diagram.rates,
			element('p', { id: 'moves-none' }, 'No transition since this page was first opened.'),
			element('ol', { id: 'moves-list' })),
	};
	document.querySelector('header h1').after(parts.status);
	document.querySelector('aside').prepend(parts.node, parts.nodes, parts.moves);
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
			time(m.at), ' ', nodeButton(m, m.to), ' ', stateButton(m.from), ' → ', stateButton(m.to))));
		waiting = [];
		while (items.children.length > shownMoves) items.lastChild.remove();
		$('moves-none').hidden = true;
	}

	for (const event of ['pointerleave', 'focusout']) $('moves-list').addEventListener(event, () => setTimeout(() => drawMoves([])));

	// --- the list of nodes ---

	const list = {
		asked: null, // the query of the shown list: a state and a search text
		nodes: [],
		pages: 0,
		abort: new AbortController(),
		timer: 0,

		// show shows the nodes of the selected state.
		show() {
			const asked = JSON.stringify([choice.state, choice.search, choice.failed, choice.maintenance]);
			if (asked !== list.asked) {
				list.asked = asked;
				list.load(false);
			}
			list.title();
		},

		title() {
			const n = !fleet ? null : choice.state ? fleet.counts[choice.state] || 0 : fleet.nodes;
			const which = [choice.state ? `Nodes in ${choice.state}` : 'All nodes', choice.failed && 'failed', choice.maintenance && 'in maintenance'].filter(Boolean);
			$('nodes-title').textContent = which.join(', ') + (n === null || which.length > 1 ? '' : `: ${number(n)}`);
		},

		more() { list.load(true); },

		async load(further) {
			list.abort.abort();
			const { signal } = list.abort = new AbortController();
			clearTimeout(list.timer);
			list.timer = 0;
			const query = new URLSearchParams({ state: choice.state, find: choice.search, failed: choice.failed, maintenance: choice.maintenance });
			if (further && list.nodes.length) query.set('after', list.nodes[list.nodes.length - 1].uuid);
			try {
				const answer = await ask(`nodes?${query}`, signal);
				list.nodes = further ? [...list.nodes, ...answer.nodes] : answer.nodes;
				list.pages = further ? list.pages + 1 : 1;
				list.draw(answer.more);
			} catch (error) {
				if (!signal.aborted) $('nodes-note').textContent = `The nodes could not be read: ${error.message}`;
			}
		},

		draw(more) {
			const items = list.nodes.map((n) => element('li', {}, nodeButton(n, n.state), ' ',
				n.maintenance ? element('span', { class: 'badge' }, 'maintenance ') : '',
				choice.state ? '' : stateButton(n.state), ' ', n.since ? time(n.since) : '',
				n.last_error ? element('div', { class: 'note' }, n.last_error) : ''));
			const focused = document.activeElement.closest && document.activeElement.closest('#nodes-list') ? document.activeElement.dataset.uuid : '';
			$('nodes-list').replaceChildren(...items);
			if (focused) [...$('nodes-list').querySelectorAll('.node')].filter((b) => b.dataset.uuid === focused).forEach((b) => b.focus());
			$('nodes-note').textContent = list.nodes.length ? '' : choice.search ? 'No node has this text in its name or UUID.' : choice.failed || choice.maintenance ? 'No such node.' : 'No nodes.';
			$('nodes-more').hidden = !more;
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

	for (const key of ['failed', 'maintenance']) {
		$(`nodes-${key}`).addEventListener('change', (event) => choose({ [key]: event.target.checked ? '1' : '' }));
	}

	// --- one node ---

	const one = {
		uuid: '',
		shown: '', // the shown response
		state: '', // the shown state
		transitions: [], // of its timeline
		abort: new AbortController(),

		show() {
			parts.node.hidden = !choice.node;
			for (const b of document.querySelectorAll('button.node')) b.setAttribute('aria-pressed', b.dataset.uuid === choice.node);
			if (choice.node !== one.uuid) {
				one.uuid = choice.node;
				one.shown = one.state = '';
				one.transitions = [];
				$('node-title').textContent = 'Node';
				$('node-body').replaceChildren();
				one.load();
			}
			diagram.drawTimeline(one.transitions);
		},

		async load() {
			one.abort.abort();
			if (!one.uuid) return;
			const { signal } = one.abort = new AbortController();
			try {
				const n = await ask(`nodes/${encodeURIComponent(one.uuid)}`, signal);
				const text = JSON.stringify(n);
				if (text === one.shown) return;
				one.shown = text;
				one.draw(n);
			} catch (error) {
				if (signal.aborted) return;
				one.shown = '';
				$('node-body').replaceChildren(element('p', { class: 'note' }, `The node could not be read: ${error.message}.`));
			}
		},

		draw(n) {
			$('node-title').textContent = n.name || n.uuid;
			const row = (name, ...value) => (value.some((v) => v) ? [element('dt', {}, name), element('dd', {}, ...value)] : []);
			const focused = $('node-body').contains(document.activeElement);
			$('node-body').replaceChildren(
				element('dl', {},
					...row('State', stateButton(n.state)),
					...row('Target', n.target && stateButton(n.target)),
					...row('Since', n.since && time(n.since)),
					...row('Last error', n.last_error && element('span', { class: 'note' }, n.last_error)),
					...row('Power', n.power),
					...row('Maintenance', n.maintenance ? n.maintenance_reason || 'yes' : ''),
					...row('Reserved by', n.reservation),
					...row('Conductor', n.conductor),
					...row('Driver', n.driver),
					...row('Resource class', n.resource_class),
					...row('UUID', element('code', {}, n.uuid))),
				element('h3', {}, 'Why it is in this state'),
				...n.why.map((text) => element('p', {}, text)),
				element('h3', {}, 'Next requests'),
				element('dl', { id: 'node-next' }, ...n.next.flatMap((a) => row(element('button', {
					type: 'button', class: 'goal', 'aria-pressed': choice.goal === a.goal,
					onclick: () => choose(choice.goal === a.goal ? { from: '', goal: '' } : { from: n.state, goal: a.goal }),
				}, `To ${a.goal}`), ...marked(a.step)))),
				element('h3', {}, 'Timeline, latest first'),
				element('ol', { id: 'node-history' }, ...n.timeline.slice().reverse().map(stageItem)));
			if (focused) $('node-title').focus();
			one.transitions = n.timeline.map((s) => s.by).filter((t) => t);
			diagram.drawTimeline(one.transitions);
			one.drawPath(n);
		},

		// drawPath selects the route from the node's state to the selected goal, else to the
		// node's target, and again whenever the state changes. It keeps a route from another state
		// that the reader has selected.
		drawPath(n) {
			const was = one.state;
			one.state = n.state;
			const goal = choice.goal || (model.goals.includes(n.target) ? n.target : '');
			if (was !== n.state && goal && (!was || !choice.from || choice.from === was)) choose({ from: n.state, goal });
		},
	};

	const sources = {
		transition: 'transition', before: 'state before', record: 'current state', history: 'from the node’s history',
	};

	function stageItem(s) {
		return element('li', {}, s.state ? stateButton(s.state) : 'an event', ' ', s.at ? time(s.at) : '', ' ',
			element('span', { class: 'badge' }, sources[s.source]),
			s.text ? element('div', { class: 'note' }, s.text) : '',
			s.by ? element('div', { class: 'through' }, 'by ', stateButton(s.by.from), ' ', element('code', {}, s.by.event), ' → ', stateButton(s.by.to)) : '');
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

	function status(text, good) {
		parts.status.textContent = text;
		document.body.classList.toggle('stale', !good);
	}

	function take(event) {
		const before = fleet;
		fleet = event;
		if (!before || before.series !== event.series) extend(event.series, names, shown);
		status(`${nodesOf(event.nodes)}, live. Conductor ${event.conductor}, ${event.series}.`, true);
		diagram.drawCounts(event.counts);
		diagram.drawTransitions(event.transitions);
		drawMoves(event.moves);
		diagram.drawRates(event);
		list.title();
		if (before) list.refresh();
		if (event.moves.some((m) => m.uuid === one.uuid)) one.load();
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
			const last = fleet ? ' The numbers are those of the last update.' : '';
			status(`No connection to the conductor, retrying.${last}`, false);
			if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 10000);
		};
	}

	document.addEventListener('visibilitychange', () => {
		if (document.hidden) {
			if (stream) stream.close();
			return;
		}
		connect();
		one.load();
	});

	const names = ['node', 'search', 'failed', 'maintenance'];

	function shown() {
		if ($('nodes-find').value !== choice.search) $('nodes-find').value = choice.search;
		for (const key of ['failed', 'maintenance']) $(`nodes-${key}`).checked = choice[key] !== '';
		for (const b of document.querySelectorAll('#node-next button')) b.setAttribute('aria-pressed', b.textContent === `To ${choice.goal}`);
		diagram.drawCounts(fleet && fleet.counts);
		list.show();
		one.show();
	}

	extend('', names, shown);
	setInterval(() => { if (!document.hidden) one.load(); }, 5000);
	connect();
})();
