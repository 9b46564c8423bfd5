// One node: its fields, the reasons for its state, the next requests, and its timeline.
const nodePanel = (() => {
	const { $, ask, choice, duration, element, marked, marks, model, since, time } = live;
	const { choose, data, stateButton } = window.explorer;

	const section = element('section', { id: 'node', 'aria-labelledby': 'node-title', hidden: '' },
		element('div', { class: 'head' }, element('h2', { id: 'node-title', tabindex: '-1' }),
			element('button', { type: 'button', id: 'node-close', 'aria-label': 'Close the node', onclick: () => choose({ node: '', from: '', goal: '' }) }, '×')),
		element('div', { id: 'node-body' }));

	let uuid = '';
	let drawn = ''; // the response that is drawn
	let state = ''; // the state that is drawn
	let transitions = []; // of the timeline
	let abort = new AbortController();

	function show() {
		section.hidden = !choice.node;
		document.body.classList.toggle('with-node', !section.hidden);
		for (const b of document.querySelectorAll('button.node')) b.setAttribute('aria-pressed', b.dataset.uuid === choice.node);
		for (const b of document.querySelectorAll('#node-next button')) b.setAttribute('aria-pressed', b.textContent === `To ${choice.goal}`);
		if (choice.node !== uuid) {
			uuid = choice.node;
			drawn = state = '';
			transitions = [];
			$('node-title').textContent = 'Node';
			$('node-body').replaceChildren();
			load();
		}
		diagram.drawTimeline(transitions, state);
	}

	async function load() {
		abort.abort();
		if (!uuid) return;
		const { signal } = abort = new AbortController();
		try {
			const n = await ask(`nodes/${encodeURIComponent(uuid)}`, signal);
			const text = JSON.stringify(n);
			if (text === drawn) return;
			drawn = text;
			draw(n);
		} catch (error) {
			if (signal.aborted) return;
			drawn = '';
			$('node-body').replaceChildren(element('p', { class: 'note' }, `The node could not be read: ${error.message}.`));
		}
	}

	function draw(n) {
		$('node-title').textContent = n.name || n.uuid;
		const row = (name, ...value) => (value.some((v) => v) ? [element('dt', {}, name), element('dd', {}, ...value)] : []);
		const focused = $('node-body').contains(document.activeElement);
		$('node-body').replaceChildren(
			element('div', {},
				element('dl', {},
					...row('State', stateButton(n.state), ...marks({ overdue: n.overdue })),
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
				}, `To ${a.goal}`), ...marked(a.step))))),
			element('div', {},
				element('h3', {}, 'Timeline, latest first'),
				element('ol', { id: 'node-history' }, ...stages(n))));
		if (focused) $('node-title').focus();
		transitions = n.timeline.map((s) => s.by).filter((t) => t);
		diagram.drawTimeline(transitions, n.state);
		drawPath(n);
	}

	// drawPath selects the route from the node's state to the selected goal, else to the node's target, and again
	// whenever the state changes. It keeps a route from another state that the reader has selected.
	function drawPath(n) {
		const was = state;
		state = n.state;
		const goal = choice.goal || (model.goals.includes(n.target) ? n.target : '');
		if (was !== n.state && goal && (!was || !choice.from || choice.from === was)) choose({ from: n.state, goal });
	}

	// stages returns the items of a node's timeline, latest first. Each state has the time that the node was in it, also
	// as a bar in proportion to the longest such time.
	function stages(n) {
		const now = n.timeline.findLastIndex((s) => s.state);
		const longest = Math.max(...n.timeline.map((s) => s.seconds || 0));
		return n.timeline.map((s, i) => stage(s, i === now ? n : null, longest)).reverse();
	}

	// stage returns an item of the timeline. node is the node if it is in this state now, else null.
	function stage(s, node, longest) {
		const lasted = node ? [since(node.since || s.at), ' so far'] : s.seconds === null ? [] : [duration(s.seconds)];
		const bar = element('div', { class: 'bar', 'aria-hidden': 'true' });
		bar.style.width = `${(100 * (s.seconds || 0)) / (longest || 1)}%`; // the style attribute is forbidden by the Content-Security-Policy
		const { phase } = data.states.find((known) => known.name === s.state) || { phase: '' };
		return element('li', { class: `stage ${phase}${node ? ' now' : ''}` },
			element('div', { class: 'row' }, s.state ? stateButton(s.state) : element('span', { class: 'badge' }, 'recorded error'),
				element('span', { class: 'lasted' }, ...lasted, ...marks({ overdue: node && node.overdue }))),
			s.seconds === null ? '' : bar,
			element('div', { class: 'when' }, s.source === 'before' ? 'left ' : '', s.at ? time(s.at) : '',
				...(s.by ? [' by ', element('code', {}, s.by.event)] : [])),
			s.text ? element('div', { class: 'note' }, s.text) : '');
	}

	return { section, show, load, uuid: () => uuid };
})();
