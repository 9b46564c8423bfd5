// SPDX-License-Identifier: Apache-2.0

package states

import "encoding/json"

// UnknownState is the state of a node whose provision state is a word that this
// module does not know, from a server newer than its tables; see [RawState]. No
// table has it.
const UnknownState State = 255

// RawState is a provision state as a server reports it. Decoding does not fail for an
// unknown word, so that one such node does not cost a client the rest of its list: a
// RawState keeps the word and encodes it unchanged. Null is NoState. A RawState is a
// value: compare it with ==, share copies.
type RawState struct {
	// State is the state of the word, or [UnknownState] if the word is unknown.
	State State
	// Unknown is the word if State is UnknownState, otherwise empty.
	Unknown string
}

// ParseRaw returns the state of a word that a server reports. The empty text is
// NoState: gophercloud decodes null as the empty text.
func ParseRaw(word string) RawState {
	s, err := Parse(word)
	if err != nil {
		return RawState{State: UnknownState, Unknown: word}
	}
	return RawState{State: s}
}

// String returns the server's word, "none" for NoState.
func (r RawState) String() string {
	if r.State == UnknownState {
		return r.Unknown
	}
	return r.State.String()
}

// MarshalJSON returns the word as a JSON string, NoState as null.
func (r RawState) MarshalJSON() ([]byte, error) {
	if r.State == UnknownState {
		return json.Marshal(r.Unknown)
	}
	return r.State.MarshalJSON()
}

// UnmarshalJSON accepts null and any JSON string. Other JSON is an [*UnknownError],
// and r keeps its value.
func (r *RawState) UnmarshalJSON(data []byte) error {
	var word *string
	if json.Unmarshal(data, &word) != nil {
		return stateWords.unknown(string(data))
	}
	if word == nil {
		*r = RawState{}
		return nil
	}
	*r = ParseRaw(*word)
	return nil
}
