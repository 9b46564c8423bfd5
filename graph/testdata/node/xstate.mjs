// Reads a JSON list of XState machines from standard input, runs each with the real package,
// and prints of each its initial state and the state after each event in each state.
import { createMachine, getInitialSnapshot, getNextSnapshot } from "xstate";
import { json } from "node:stream/consumers";

function run(config) {
  const machine = createMachine(config);
  const rows = [];
  for (const from of Object.keys(machine.states)) {
    const snapshot = machine.resolveState({ value: from });
    for (const event of machine.events) {
      if (snapshot.can({ type: event })) {
        rows.push({ from, event, to: getNextSnapshot(machine, snapshot, { type: event }).value });
      }
    }
  }
  const tags = Object.fromEntries(Object.entries(machine.states).map(([name, state]) => [name, state.tags]));
  return { initial: getInitialSnapshot(machine).value, rows, tags };
}

console.log(JSON.stringify((await json(process.stdin)).map(run)));
