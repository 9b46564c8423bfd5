// SPDX-License-Identifier: Apache-2.0

package states

//go:generate go run ./internal/gen

// Description returns the text of the comment on the state's constant, for pages and
// tooltips: what the state means, who moves a node on from it and when, and what an
// operator does there. Each is a paragraph of plain text, with a blank line between
// two; Ironic's words and fields are in backquotes, as in Markdown. The text is one
// for all series, and says which series brought what. It is empty for NoState and a
// number that is no state. Source: doc/source/user/states.rst for the facts.
func (s State) Description() string {
	if int(s) >= len(stateTexts) {
		return ""
	}
	return stateTexts[s]
}

// Description returns the text of the comment on the event's constant: who makes it
// happen, and what it means. It is written as the text of [State.Description]. It is
// empty for NoEvent and a number that is no event.
func (e Event) Description() string {
	if int(e) >= len(eventTexts) {
		return ""
	}
	return eventTexts[e]
}
