// The panel of the simulation: the node's state, buttons for its next inputs, and the steps of the walk. ui has the
// view's functions.
function newWalkPanel(ui) {
	const { $, choice, choose, element, name, stateButton, version } = ui;
	const { sim } = simulation;
	const section = element('section', { id: 'walk', hidden: '', 'aria-labelledby': 'walk-title' });
	$('route').before(section);

	const outcome = (a) => `${a.status} ${a.phrase}${a.text ? `: ${a.text}` : ''}`;

	// go changes the walk, and announces its last step. A page that is scrolled to the buttons stays there, unless the
	// walk is new.
	function go(walk, isNew = false) {
		choose({ walk });
		if (!choice.walk) return;
		$('walk-title').focus({ preventScroll: !isNew });
		$('live').textContent = section.querySelector('ol').lastElementChild.textContent;
	}

	const add = (part) => () => go(`${choice.walk}.${part}`);

	// button returns a button for an input.
	const button = (part, label, requires) => element('button', { type: 'button', class: 'move', 'data-part': part, onclick: add(part) },
		label, requires ? ` with ${requires}` : '');

	const item = (part, label, requires, ...rest) => element('li', {}, button(part, label, requires), ' ', ...rest);

	function list(title, items, none) {
		return [element('h3', {}, title), items.length ? element('ul', { class: 'moves' }, ...items) : element('p', {}, none)];
	}

	const arrow = (to) => ['→ ', stateButton(sim.nodes[to][0])];

	function requestItems(series, v, node) {
		const [state] = sim.nodes[node];
		const answers = sim.words.map((word) => ({ word, ...simulation.answer(series, v, state, word) }));
		const requires = (word) => (model.transition(series, state, word) || {}).requires;
		const to = (word) => simulation.moves(series, 'request', node).find((m) => m.input === sim.words.indexOf(word)).to;
		return {
			accepted: answers.filter((a) => a.status < 300).map((a) => item(a.word, a.word, requires(a.word), ...arrow(to(a.word)))),
			refused: answers.filter((a) => a.status >= 300).map((a) => item(a.word, a.word, '', element('span', { class: 'badge' }, outcome(a)))),
		};
	}

	function reportItems(series, node) {
		return simulation.moves(series, 'report', node).map((m) => {
			const event = data.events[m.input];
			const li = item(`*${event.name}`, event.name, '', ...arrow(m.to));
			li.title = event.text.replaceAll('`', '');
			return li;
		});
	}

	function stepItem(s) {
		const after = s.to === s.from ? [] : [' ', ...arrow(s.to)];
		if (s.kind === 'report') {
			const nothing = s.impossible ? [' ', element('span', { class: 'note' }, 'the conductor does not report this here')] : [];
			return element('li', {}, 'report ', element('code', {}, s.name), ...nothing, ...after);
		}
		return element('li', {}, 'request ', element('code', {}, s.name), ' ', element('span', { class: s.answer.status < 300 ? 'badge' : 'note' }, outcome(s.answer)), ...after);
	}

	// draw shows the walk of the choice, and returns the states and the pairs of states that it passes.
	function draw(series, v) {
		section.hidden = !choice.walk;
		if (!choice.walk) {
			section.replaceChildren();
			return null;
		}
		const { start, steps, node } = simulation.walk(series, v, choice.walk);
		const [state, target] = sim.nodes[node];
		const as = model.shownAs(state, v);
		const { accepted, refused } = requestItems(series, v, node);
		const open = section.querySelector('details[open]') !== null;
		const back = (label, walk, id) => element('button', { type: 'button', id, onclick: () => go(walk) }, label);
		section.replaceChildren(
			element('h2', { id: 'walk-title', tabindex: '-1' }, 'Simulation'),
			element('p', {}, 'The node is in ', stateButton(state), target >= 0 ? ` and has the target ${name(target)}` : '', '.'),
			...(as ? [element('p', { class: 'note' }, `API version ${version(v)} shows this state as ${as}.`)] : []),
			...list(`A client requests, with API ${version(v)}`, accepted, 'The API accepts no request in this state.'),
			element('details', open ? { open: '' } : {}, element('summary', {}, `${refused.length} words that the API refuses`), element('ul', { class: 'moves' }, ...refused)),
			...list('The conductor reports', reportItems(series, node), 'The conductor does not change this state.'),
			element('h3', {}, 'The walk'),
			element('ol', {}, element('li', {}, 'begin in ', stateButton(sim.nodes[start][0])), ...steps.map(stepItem)),
			element('p', {},
				...(steps.length ? [back('Step back', choice.walk.split('.').slice(0, -1).join('.'), 'walk-back'), back('Begin again', choice.walk.split('.')[0], 'walk-again')] : []),
				back('End', '', 'walk-end')),
			element('p', { class: 'badge' }, 'The address of this page holds the walk, for a bug report.'));
		return { passes: [[sim.nodes[start][0]], ...steps.map((s) => simulation.passed(series, s))], state };
	}

	return { draw, start: (state) => go(state, true) };
}
