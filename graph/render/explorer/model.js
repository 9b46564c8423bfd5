'use strict';
// The model: functions on the data embedded in the page. It does not change the page.
const data = JSON.parse(document.getElementById('data').textContent);

const model = {
	goals: data.goals,
	seriesNames: data.series.map((s) => s.name),

	// series returns the series with a name, undefined if there is none.
	series: (name) => data.series.find((s) => s.name === name),

	// state returns the index of the state with a name, -1 if the series lacks it.
	state(series, name) {
		const n = data.states.findIndex((s) => s.name === name);
		return series.states.includes(n) ? n : -1;
	},

	transitions: (series) => series.transitions.map((n) => data.transitions[n]),

	// words returns the words that the API accepts for a transition at a version.
	words: (transition, version) => (transition.words || []).filter((w) => w.since <= version),

	// transition returns the transition from a state that a request's verb starts.
	transition: (series, from, verb) => model.transitions(series).find(
		(t) => t.from === from && (t.words || []).some((w) => w.verb === verb)),

	// label returns a transition's label in the diagram.
	label: (transition) => (transition.words ? transition.words[0].verb : data.events[transition.event].name),

	// shownAs returns the name under which a version shows a state, null for its own name.
	shownAs(state, version) {
		const row = data.shown.filter((s) => s.state === state && version < s.below)[0];
		return row ? row.as : null;
	},

	// route returns the route from a state to a goal: steps with the states that each passes, in
	// order; needs, the letters of the permissions that it requires; failure, the letter of the
	// reason for which there is no route, else empty; and end, its last state.
	route(series, version, from, goal) {
		const plan = series.plans[series.begins.filter((v) => v <= version).length - 1];
		const code = data.routes[plan[data.goals.indexOf(goal)]].split(',')[from];
		const [, needs, requests, failure] = /^([A-Z]*)([a-z]*)(?:!(.))?$/.exec(code);
		const steps = [];
		let at = from;
		const rest = () => {
			const s = data.states[at];
			if (s.end !== at) {
				steps.push({ verb: '', transition: null, passes: [at, ...s.through, s.end] });
				at = s.end;
			}
		};
		if (!failure) {
			rest();
			for (const letter of requests) {
				const verb = data.verbs[letter.charCodeAt(0) - 97];
				const transition = model.transition(series, at, verb);
				steps.push({ verb, transition, passes: [at, ...(transition.through || []), transition.end] });
				at = transition.end;
			}
		}
		return { steps, needs, failure: failure || '', end: at };
	},

	// same reports whether two transitions are equal rows of two series' tables.
	same: (a, b) => a.from === b.from && a.event === b.event && a.to === b.to,

	// only returns the states and transitions that one series has and the other lacks, and for
	// the transitions that both have, the words that the other lacks.
	only(series, other) {
		const theirs = model.transitions(other);
		const transitions = model.transitions(series);
		return {
			states: series.states.filter((s) => !other.states.includes(s)),
			transitions: transitions.filter((t) => !theirs.some((g) => model.same(t, g))),
			words: transitions.flatMap((t) => {
				const g = theirs.find((other) => model.same(t, other));
				const known = g ? (g.words || []).map((w) => w.verb) : [];
				return g ? (t.words || []).filter((w) => !known.includes(w.verb)).map((w) => ({ transition: t, word: w })) : [];
			}),
		};
	},

	// found returns the indexes of the states that match a search, best match first. It searches
	// names, parts, phases, descriptions, and the events and words of outgoing transitions.
	found(series, text) {
		const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
		return series.states.filter((n) => {
			const s = data.states[n];
			const words = model.transitions(series).filter((t) => t.from === n).flatMap(
				(t) => [data.events[t.event].name, ...(t.words || []).map((w) => w.verb)]);
			const all = [s.name, s.part, s.phase, s.text, ...words].join(' ').toLowerCase();
			return wanted.every((w) => all.includes(w));
		}).sort((a, b) => rank(a) - rank(b) || a - b);

		function rank(n) {
			return data.states[n].name.startsWith(text.toLowerCase().trim()) ? 0 : data.states[n].name.includes(text.toLowerCase().trim()) ? 1 : 2;
		}
	},
};
