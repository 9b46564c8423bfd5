// The simulation: a node that the reader walks through the states. A walk is a text such as "enroll.manage.*done": the
// first state, the words that a client requests, and after a * the events that the conductor reports. It is part of the
// address, so it may be anyone's text: unknown words are left out, and nothing of it is shown but names of the tables.
const simulation = (() => {
	const sim = data.simulation;
	const maxSteps = 100; // of a walk; later ones are left out

	const holds = (series) => {
		const n = data.series.indexOf(series);
		return (entry) => entry.first <= n && n <= entry.last;
	};

	// moves returns the moves of a kind from a node or, for a start, from a state.
	const moves = (series, kind, from) => sim.moves.filter((m) => m.kind === kind && m.from === from).filter(holds(series));

	// answer returns the API's answer to a word for a node in a state: its status, phrase and text.
	function answer(series, version, state, word) {
		const { since } = sim.answers.filter((a) => a.state === state).find(holds(series));
		const [, row] = since.filter(([v]) => v <= version).pop();
		const { status, phrase, text } = sim.reasons[sim.rows[row][sim.words.indexOf(word)]];
		return { status, phrase, text: (text || '').replace('{series}', series.name).replace('{max}', `1.${series.max}`) };
	}

	// inputOf returns the input that a part of a walk stands for, undefined if there is none.
	function inputOf(part) {
		if (sim.words.includes(part)) return { kind: 'request', name: part, input: sim.words.indexOf(part) };
		const event = part.startsWith('*') ? data.events.findIndex((e) => e.name === part.slice(1)) : -1;
		return event >= 0 ? { kind: 'report', name: part.slice(1), input: event } : undefined;
	}

	// step returns what an input does to a node: the node after it, and the API's answer to a request. impossible says
	// that the conductor of the series reports no such event in the state.
	function step(series, version, from, input) {
		const [state] = sim.nodes[from];
		const given = input.kind === 'request' ? answer(series, version, state, input.name) : null;
		const move = !given || given.status < 300 ? moves(series, input.kind, from).find((m) => m.input === input.input) : undefined;
		return { ...input, from, to: move ? move.to : from, answer: given, impossible: !given && !move };
	}

	// parts returns the known parts of a walk, without the words that no table has.
	function parts(walk) {
		const [first, ...rest] = walk.split('.').slice(0, maxSteps + 1);
		return [first, ...rest.filter(inputOf)];
	}

	// tidy returns a walk as it is in the address, "" if the series lacks its first state.
	const tidy = (series, walk) => (model.state(series, parts(walk)[0]) < 0 ? '' : parts(walk).join('.'));

	// walk returns the steps of a tidy walk, and the node after each of them.
	function walk(series, version, text) {
		const [first, ...rest] = parts(text);
		const start = moves(series, 'start', model.state(series, first))[0].to;
		const steps = [];
		let node = start;
		for (const part of rest) {
			steps.push(step(series, version, node, inputOf(part)));
			node = steps[steps.length - 1].to;
		}
		return { start, steps, node };
	}

	// passed returns the states that a step leads from and to, with those between them.
	function passed(series, { kind, from, to, name }) {
		const [[a], [b]] = [sim.nodes[from], sim.nodes[to]];
		const direct = model.transitions(series).some((t) => t.from === a && t.to === b);
		const transition = kind === 'request' && !direct ? model.transition(series, a, name) : null;
		return a === b ? [a] : transition ? [a, ...(transition.through || []), b] : [a, b];
	}

	return { sim, answer, maxSteps, moves, passed, tidy, walk };
})();
