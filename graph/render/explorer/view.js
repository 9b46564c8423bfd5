// The view: the reader's choice, and the page that shows it.
(() => {
	const $ = (id) => document.getElementById(id);
	const phases = {
		stable: 'stable', working: 'the conductor is working', waiting: 'the conductor waits for a call-back',
		hold: 'stopped by a hold step', failed: 'an operator has to check the node',
	};
	const needs = {
		D: 'The route destroys a workload on the node.',
		R: 'The route repeats work that has failed: check the node first.',
		H: 'A hold step stops the work: an operator resumes it with unhold.',
	};
	const choice = {};
	const panels = [];
	const extension = { series: '', names: [], shown: () => {} };

	// element creates an element with attributes and children. It never parses a text as HTML.
	function element(name, attributes = {}, ...children) {
		const e = document.createElement(name);
		for (const [key, value] of Object.entries(attributes)) {
			if (key === 'onclick') e.addEventListener('click', value);
			else if (value !== null) e.setAttribute(key, value);
		}
		e.append(...children);
		return e;
	}

	// marked splits a text at backquotes and returns the quoted parts as code elements.
	const marked = (text) => text.split('`').map((piece, n) => (n % 2 ? element('code', {}, piece) : piece));

	const version = (minor) => `1.${minor}`;
	const name = (n) => data.states[n].name;

	function stateButton(n) {
		const current = choice.state === name(n);
		return element('button', {
			type: 'button', class: `state ${data.states[n].phase}`, 'data-state': name(n),
			'aria-current': current ? 'true' : null, onclick: () => choose({ state: name(n) }),
		}, name(n));
	}

	// passing returns buttons for states, with arrows between them.
	const passing = (list) => list.flatMap((n, i) => (i ? [' → ', stateButton(n)] : [stateButton(n)]));

	// --- the reader's choice, stored in the URL's fragment ---

	const added = () => Object.fromEntries(extension.names.map((key) => [key, '']));

	function opening() {
		const s = data.start;
		return { ...added(), series: s.series, version: '', state: s.state || '', with: s.with || '', from: '', goal: '', requests: s.requests ? '1' : '', find: '', walk: '' };
	}

	// readAddress sets the choice from the URL's fragment. It ignores unknown keys and values.
	function readAddress() {
		const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
		Object.assign(choice, opening());
		for (const key of Object.keys(choice)) if (key in given) choice[key] = given[key];
		tidy();
	}

	function tidy() {
		if (extension.series) choice.series = extension.series;
		if (!model.series(choice.series)) choice.series = data.start.series;
		const series = model.series(choice.series);
		if (!model.series(choice.with) || choice.with === choice.series) choice.with = '';
		const minor = Number((/^1\.([1-9]\d*)$/.exec(choice.version) || [])[1] || 0);
		choice.version = minor && minor < series.max ? choice.version : '';
		const either = [series, model.series(choice.with)].filter(Boolean);
		if (!either.some((s) => model.state(s, choice.state) >= 0)) choice.state = '';
		if (model.state(series, choice.from) < 0) choice.from = '';
		if (!model.goals.includes(choice.goal)) choice.goal = '';
		choice.requests = choice.requests ? '1' : '';
		choice.walk = simulation.tidy(series, choice.walk);
	}

	function writeAddress() {
		const first = opening();
		const parts = new URLSearchParams();
		for (const [key, value] of Object.entries(choice)) if (key === 'series' || value !== first[key]) parts.set(key, value);
		history.replaceState(null, '', `#${parts}`);
	}

	function choose(changes) {
		Object.assign(choice, changes);
		tidy();
		writeAddress();
		if ('walk' in changes) show(); // the walk's panel moves the focus itself
		else keepFocus(show);
		if (!changes.state) return;
		reveal();
		$('live').textContent = `${choice.state}: ${data.states.find((s) => s.name === choice.state).text.split('\n')[0].replaceAll('`', '')}`;
	}

	// keepFocus calls draw, which creates lists and texts anew. If that removes the focused button, the focus moves to the
	// button at the same place, or else to the heading of its section.
	function keepFocus(draw) {
		const focused = document.activeElement;
		const box = focused.closest('#list, aside section');
		const same = () => [...box.querySelectorAll('button')].filter((b) => b.id === focused.id && b.dataset.state === focused.dataset.state);
		const n = box ? same().indexOf(focused) : -1;
		draw();
		if (n < 0 || focused.isConnected) return;
		const next = same()[n] || box.querySelector('h2');
		if (!next) return;
		if (next.tagName === 'H2') next.setAttribute('tabindex', '-1');
		next.focus({ preventScroll: next.tagName !== 'H2' });
	}

	const minor = (series) => Math.min(series.max, choice.version ? Number(choice.version.slice(2)) : series.max);

	// --- diagrams ---

	function newPanel(id) {
		const svg = $(id).querySelector('svg');
		const panel = { section: $(id), states: [], edges: [], parts: [] };
		for (const g of svg.querySelectorAll('[data-id]')) {
			const id = g.dataset.id;
			if (id.startsWith('part-')) panel.parts.push({ g, title: g.querySelector('text').textContent });
			if (id.startsWith('state-')) panel.states[data.states.findIndex((s) => `state-${slug(s.name)}` === id)] = { g };
			if (id.startsWith('edge-')) panel.edges.push({ g, id, title: g.querySelector('title'), texts: [...g.querySelectorAll('text')] });
		}
		panel.states.forEach(({ g }, n) => {
			g.addEventListener('click', () => choose({ state: name(n) }));
			g.addEventListener('keydown', (event) => stateKey(event, panel, n));
			g.setAttribute('aria-label', `${name(n)}: ${phases[data.states[n].phase]}`);
		});
		panels.push(panel);
	}

	const slug = (word) => word.replace(/[ -]/g, '_');
	const edgeOf = (from, to) => `edge-${slug(name(from))}-${slug(name(to))}`;

	// drawPanel shows one series in a diagram. other is the series in the other diagram, if any.
	function drawPanel(panel, series, other, taken) {
		const v = minor(series);
		const only = other ? model.only(series, other) : { states: [], transitions: [], words: [] };
		const found = choice.find.trim() ? model.found(series, choice.find) : [];
		panel.states.forEach(({ g }, n) => {
			const s = data.states[n];
			const chosen = choice.state === s.name;
			mark(g, 'state', {
				absent: !series.states.includes(n), stable: s.stable, failed: s.phase === 'failed', chosen,
				taken: taken.states.has(n), here: taken.here === n, added: only.states.includes(n), found: found.includes(n),
			});
			g.setAttribute('aria-pressed', chosen);
		});
		const active = panel.states[series.states.find((n) => name(n) === choice.state) ?? series.states[0]];
		panel.states.forEach((p) => p.g.setAttribute('tabindex', p === active ? '0' : '-1'));
		for (const p of panel.parts) {
			mark(p.g, 'part', { absent: !series.states.some((n) => data.states[n].part === p.title) });
		}
		const transitions = model.transitions(series);
		for (const edge of panel.edges) {
			const here = transitions.filter((t) => edgeOf(t.from, t.to) === edge.id && (!choice.requests || t.cause !== 'conductor'));
			drawEdge(edge, here, only.transitions, v, taken);
		}
	}

	function drawEdge(edge, transitions, added, v, taken) {
		const requests = transitions.filter((t) => t.cause === 'request');
		const late = (t) => t.cause === 'request' && model.words(t, v).length === 0;
		const at = data.states.findIndex((s) => s.name === choice.state);
		mark(edge.g, 'edge', {
			absent: transitions.length === 0, request: requests.length > 0, late: transitions.length > 0 && transitions.every(late),
			near: transitions.some((t) => t.from === at || t.to === at), taken: taken.edges.has(edge.id),
			added: transitions.some((t) => added.includes(t)),
		});
		for (const label of edge.texts) {
			const transition = transitions.find((t) => model.label(t) === label.textContent);
			const classes = { absent: !transition, api: transition && transition.cause !== 'conductor', new: added.includes(transition) };
			label.setAttribute('class', Object.keys(classes).filter((c) => classes[c]).join(' '));
		}
		edge.title.textContent = transitions.map((t) => `${name(t.from)} to ${name(t.to)}: ${model.label(t)}${late(t) ? ` (from ${version(t.words[0].since)})` : ''}`).join('\n');
	}

	function mark(g, kind, classes) {
		g.setAttribute('class', [kind, ...Object.keys(classes).filter((c) => classes[c])].join(' '));
	}

	// --- zoom ---

	const zooms = [1, 1.25, 1.5, 2, 3];
	let zoom = 0; // an index of zooms; at 0 the smallest label is 11 pixels high

	function setZoom(index, whole) {
		zoom = Math.max(0, Math.min(zooms.length - 1, index));
		$('panels').style.setProperty('--zoom', zooms[zoom]);
		$('panels').classList.toggle('whole', whole);
		$('zoom-whole').setAttribute('aria-pressed', whole);
		$('zoom-out').disabled = zoom === 0 || whole;
		$('zoom-in').disabled = zoom === zooms.length - 1;
		reveal();
	}

	// reveal scrolls the diagrams sideways if the chosen state is out of view.
	function reveal() {
		for (const { section, states } of panels) {
			const chosen = states[data.states.findIndex((s) => s.name === choice.state)];
			if (!chosen || section.hidden) continue;
			const drawing = section.querySelector('.drawing');
			const [state, view] = [chosen.g, drawing].map((e) => e.getBoundingClientRect());
			if (state.left < view.left || state.right > view.right) drawing.scrollLeft += (state.left + state.right - view.left - view.right) / 2;
		}
	}

	// --- keys ---

	const ahead = {
		ArrowUp: (dx, dy) => (-dy > Math.abs(dx) ? -dy : 0), ArrowDown: (dx, dy) => (dy > Math.abs(dx) ? dy : 0),
		ArrowLeft: (dx, dy) => (-dx > Math.abs(dy) ? -dx : 0), ArrowRight: (dx, dy) => (dx > Math.abs(dy) ? dx : 0),
	};

	function stateKey(event, panel, n) {
		if (event.key === 'Enter' || event.key === ' ') {
			event.preventDefault();
			choose({ state: name(n) });
		}
		if (!(event.key in ahead)) return;
		event.preventDefault();
		const box = (g) => g.getBoundingClientRect();
		const here = box(panel.states[n].g);
		let best = null;
		let least = Infinity;
		for (const { g } of panel.states) {
			if (g.classList.contains('absent')) continue;
			const dx = box(g).x + box(g).width / 2 - here.x - here.width / 2;
			const dy = box(g).y + box(g).height / 2 - here.y - here.height / 2;
			if (ahead[event.key](dx, dy) > 0 && Math.hypot(dx, dy) < least) [best, least] = [g, Math.hypot(dx, dy)];
		}
		if (best) best.focus();
	}

	document.addEventListener('keydown', (event) => {
		const typing = ['INPUT', 'SELECT'].includes(document.activeElement.tagName);
		if (event.key === '/' && !typing) {
			event.preventDefault();
			$('find').focus();
		}
		if (event.key === 'Escape') choose(choice.find ? { find: '' } : { ...added(), state: '', from: '', goal: '' });
	});

	// --- lists and texts ---

	function fill(select, options, value) {
		select.replaceChildren(...options.map(([v, text]) => element('option', { value: v }, text)));
		select.value = value;
	}

	function drawControls(series) {
		const names = model.seriesNames.slice().reverse();
		fill($('series'), names.map((s) => [s, s]), choice.series);
		const versions = Array.from({ length: series.max }, (_, n) => version(series.max - n));
		fill($('version'), versions.map((v, n) => [n ? v : '', v]), choice.version);
		fill($('with'), [['', 'nothing'], ...names.filter((s) => s !== choice.series).map((s) => [s, s])], choice.with);
		fill($('from'), [['', '…'], ...series.states.map((n) => [name(n), name(n)])], choice.from);
		fill($('goal'), [['', '…'], ...model.goals.map((g) => [g, g])], choice.goal);
		$('requests').checked = choice.requests !== '';
		if ($('find').value !== choice.find) $('find').value = choice.find;
	}

	function drawList(series) {
		const group = (title, list) => element('li', {}, element('div', { class: 'part' }, title),
			element('ul', {}, ...list.map((n) => element('li', {}, stateButton(n)))));
		if (choice.find.trim()) {
			const found = model.found(series, choice.find);
			$('list').replaceChildren(group(found.length ? `${found.length} found` : 'nothing found', found));
			return;
		}
		const parts = [...new Set(series.states.map((n) => data.states[n].part))];
		$('list').replaceChildren(...parts.map((part) => group(part || 'Main states', series.states.filter((n) => data.states[n].part === part))));
	}

	function table(header, rows) {
		return element('table', {}, element('thead', {}, element('tr', {}, ...header.map((h) => element('th', { scope: 'col' }, h)))),
			element('tbody', {}, ...rows));
	}

	function requestRow(t, v) {
		const words = t.words.flatMap((w, i) => [i ? ', ' : '', element('code', {}, w.verb)]);
		const since = t.words.map((w) => version(w.since)).join(', ');
		return element('tr', { class: model.words(t, v).length ? null : 'late' },
			element('td', {}, ...words, t.requires ? element('div', { class: 'badge' }, `with ${t.requires}`) : ''),
			element('td', {}, since), element('td', {}, ...passing([...(t.through || []), t.end])));
	}

	function drawDetails(series) {
		const n = model.state(series, choice.state);
		const box = $('details');
		if (n < 0) {
			const absent = choice.state ? `The series ${series.name} has no state ${choice.state}.` : 'Select a state in the diagram or in the list.';
			box.replaceChildren(element('h2', {}, choice.state || 'State'), element('p', {}, absent));
			return;
		}
		const s = data.states[n];
		const v = minor(series);
		const transitions = model.transitions(series).filter((t) => t.from === n);
		const requests = transitions.filter((t) => t.words);
		const reports = transitions.filter((t) => t.cause !== 'request');
		const as = model.shownAs(n, v);
		box.replaceChildren(
			element('h2', {}, s.link ? element('a', { href: s.link }, s.name) : s.name),
			element('p', { class: 'badge' }, s.phase === 'stable' ? 'stable' : `${s.stable ? 'stable' : 'not stable'}; ${phases[s.phase]}`),
			...s.text.split('\n\n').map((p) => element('p', {}, ...marked(p))),
			as ? element('p', { class: 'note' }, `API version ${version(v)} shows this state as ${as}.`) : '',
			element('p', {}, element('button', { type: 'button', id: 'start-here', onclick: () => choose({ from: s.name }) }, 'Route from this state'), ' ',
				element('button', { type: 'button', id: 'simulate-here', onclick: () => walkPanel.start(s.name) }, 'Simulate from this state')),
			element('h3', {}, 'Requests'),
			requests.length ? table(['Word', 'Since', 'Leads to'], requests.map((t) => requestRow(t, v))) : element('p', {}, 'The API accepts no request in this state.'),
			element('h3', {}, 'Transitions by the conductor'),
			reports.length ? table(['Event', 'Leads to'], reports.map((t) => element('tr', {},
				element('td', { title: data.events[t.event].text.replaceAll('`', '') }, element('code', {}, data.events[t.event].name)),
				element('td', {}, stateButton(t.to))))) : element('p', {}, 'The conductor does not change this state.'));
	}

	// takenBy returns the states and edges of a walk with its last state, else of a route, else of the path that the page
	// opens with.
	function takenBy(route, walked) {
		const passes = walked ? walked.passes : route ? route.steps.map((s) => s.passes) : (data.start.path || []).map((p) => p.map((w) => data.states.findIndex((s) => s.name === w)));
		const taken = { states: new Set(), edges: new Set(), here: walked ? walked.state : -1 };
		for (const list of passes) {
			list.forEach((n, i) => {
				taken.states.add(n);
				if (i) taken.edges.add(edgeOf(list[i - 1], n));
			});
		}
		return taken;
	}

	function drawRoute(series, route) {
		const box = $('route');
		box.hidden = !route;
		if (!route) return;
		const content = [element('h2', {}, `From ${choice.from} to ${choice.goal}`)];
		if (route.failure === 'v') content.push(element('p', { class: 'note' }, `The route needs a higher API version than ${version(minor(series))}.`));
		else if (route.failure) content.push(element('p', { class: 'note' }, `The API of ${series.name} has no route to this goal.`));
		else if (route.steps.length === 0) content.push(element('p', {}, 'The node has already reached the goal.'));
		const steps = route.steps.map((s) => element('li', {}, s.verb ? 'request ' : 'wait: ', s.verb ? element('code', {}, s.verb) : '',
			s.transition && s.transition.requires ? ` with ${s.transition.requires}: ` : s.verb ? ': ' : '', ...passing(s.passes)));
		if (steps.length) content.push(element('ol', {}, ...steps));
		for (const letter of route.needs) content.push(element('p', { class: 'note' }, needs[letter]));
		box.replaceChildren(...content);
	}

	function drawChanges(series, other) {
		const box = $('changes');
		box.hidden = !other;
		if (!other) return;
		const list = (title, items) => (items.length ? [element('h3', {}, title), element('ul', {}, ...items.map((i) => element('li', {}, ...i)))] : []);
		const row = (t) => [stateButton(t.from), ' ', element('code', {}, model.label(t)), ' → ', stateButton(t.to)];
		const side = (a, b) => {
			const only = model.only(a, b);
			return [
				...list(`States only in ${a.name}`, only.states.map((n) => [stateButton(n)])),
				...list(`Transitions only in ${a.name}`, only.transitions.map(row)),
				...list(`Words only in ${a.name}`, only.words.map(({ transition, word }) => [stateButton(transition.from), ' ', element('code', {}, word.verb), ` (${version(word.since)})`])),
			];
		};
		const found = [...side(series, other), ...side(other, series)];
		box.replaceChildren(element('h2', {}, `${series.name} and ${other.name}`),
			element('p', {}, `API up to ${version(series.max)}, and up to ${version(other.max)}.`),
			...(found.length ? found : [element('p', {}, 'Both series have the same states and transitions.')]));
	}

	const counts = (s) => `${s.states.length} states, ${s.transitions.length} transitions`;

	function show() {
		const series = model.series(choice.series);
		const other = model.series(choice.with);
		const route = choice.from && choice.goal ? model.route(series, minor(series), model.state(series, choice.from), choice.goal) : null;
		drawControls(series);
		drawList(series);
		drawDetails(series);
		drawRoute(series, route);
		drawChanges(series, other);
		$('main-title').textContent = `${series.name}, API ${version(minor(series))}`;
		$('summary').textContent = counts(series);
		drawPanel(panels[0], series, other, takenBy(route, walkPanel.draw(series, minor(series))));
		$('other').hidden = !other;
		if (other) {
			$('other-title').textContent = `${other.name}, API ${version(minor(other))}`;
			$('changed').textContent = counts(other);
			drawPanel(panels[1], other, series, { states: new Set(), edges: new Set(), here: -1 });
		}
		extension.shown();
	}

	// The interface for the script of an extended page; see ExtendedHTML.
	window.explorer = {
		data, model, choice, choose, element,
		stateButton: (word) => stateButton(data.states.findIndex((s) => s.name === word)),
		get states() { return new Map(panels[0].states.map(({ g }, n) => [name(n), g])); },
		get edges() {
			const edges = new Map(panels[0].edges.map(({ g, id }) => [id, g]));
			return new Map(data.transitions.map((t) => [`${name(t.from)} ${name(t.to)}`, edges.get(edgeOf(t.from, t.to))]));
		},
		extend(series, names, shown) {
			Object.assign(extension, { series, names, shown });
			readAddress();
			show();
		},
	};

	const walkPanel = newWalkPanel({ $, choice, choose, element, name, stateButton, version });
	$('other').querySelector('.drawing').append($('main').querySelector('svg').cloneNode(true));
	newPanel('main');
	newPanel('other');
	$('panels').style.setProperty('--drawn', `${$('main').querySelector('svg').viewBox.baseVal.width}px`);
	$('zoom-out').addEventListener('click', () => setZoom(zoom - 1, false));
	$('zoom-in').addEventListener('click', () => setZoom($('panels').classList.contains('whole') ? 0 : zoom + 1, false));
	$('zoom-whole').addEventListener('click', () => setZoom(0, !$('panels').classList.contains('whole')));
	for (const id of ['series', 'version', 'with', 'from', 'goal']) $(id).addEventListener('change', () => choose({ [id]: $(id).value }));
	$('requests').addEventListener('change', () => choose({ requests: $('requests').checked ? '1' : '' }));
	$('find').addEventListener('input', () => choose({ find: $('find').value }));
	$('controls').addEventListener('submit', (event) => event.preventDefault());
	window.addEventListener('hashchange', () => { readAddress(); show(); });
	readAddress();
	show();
	setZoom(0, false);
})();
