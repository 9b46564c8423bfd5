// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// searchTimeout bounds the search for an order of one node's requests, which takes milliseconds unless there is none.
const searchTimeout = 10 * time.Minute

// reads checks that the clients' reads and writes are linearizable.
func (c *checker) reads() {
	byNode := map[string][]Request{}
	for _, r := range c.Requests {
		if (r.Kind == Read || r.Kind == Write) && r.Outcome != Refused {
			byNode[r.Node] = append(byNode[r.Node], r)
		}
	}
	for id, requests := range byNode {
		versions := c.Nodes[id]
		if len(versions) == 0 {
			c.find("reads", id, "it was written or read, and never stored")
			continue
		}
		c.linearizable(id, "the reads do not fit the stored versions", recordModel(versions), c.recordHistory(versions, requests))
		c.linearizable(id, "the values that were written and read fit no order", valueModel(versions[0].Value),
			c.valueHistory(id, versions, requests))
	}
}

func (c *checker) linearizable(id, text string, model porcupine.Model, operations []porcupine.Operation) {
	switch porcupine.CheckOperationsTimeout(model, operations, searchTimeout) {
	case porcupine.Illegal:
		c.find("reads", id, "%s (%d operations)", text, len(operations))
	case porcupine.Unknown:
		c.find("reads", id, "no order of %d operations was found within %v, and none was excluded", len(operations), searchTimeout)
	}
}

// recordModel is a node whose versions are stored one after the other. The input of a
// write is the index of its version; the output of a read is the request.
func recordModel(versions []Version) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			at := state.(int)
			if index, stores := input.(int); stores {
				return index == at+1, index
			}
			return shows(output.(Request), versions[at]), at
		},
	}
}

// shows reports whether a read's answer fits a version.
func shows(r Request, v Version) bool {
	return r.Shown.State == v.State && r.Value == v.Value && r.Shown.Reserved == (v.Claim != "") &&
		(r.Shown.Updated.IsZero() || r.Shown.Updated.Equal(v.Updated))
}

// recordHistory returns the reads of a node and the writes of its versions. A write took
// effect between the version's Updated and Stored.
func (c *checker) recordHistory(versions []Version, requests []Request) []porcupine.Operation {
	var operations []porcupine.Operation
	for i, v := range versions[1:] {
		operations = append(operations, porcupine.Operation{
			Input: i + 1, Call: v.Updated.Add(-clock).UnixNano(), Return: v.Stored.UnixNano(),
		})
	}
	for _, r := range requests {
		if r.Kind == Read && r.Outcome == Accepted {
			operations = append(operations, porcupine.Operation{
				Input: nil, Output: r, Call: r.Begin.UnixNano(), Return: r.End.UnixNano(),
			})
		}
	}
	return operations
}

// valueModel is a register with an initial value.
func valueModel(first string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, output any) (bool, any) {
			if r := input.(Request); r.Kind == Write {
				return true, r.Value
			}
			return state == output, state
		},
	}
}

// valueHistory returns the clients' writes and reads of a value. A write whose outcome is
// unknown either took effect between its begin and the time at which its value was first
// seen in the store, or never.
func (c *checker) valueHistory(id string, versions []Version, requests []Request) []porcupine.Operation {
	stored := map[string]time.Time{}
	for _, v := range versions {
		if _, ok := stored[v.Value]; !ok {
			stored[v.Value] = v.Stored
		}
	}
	var operations []porcupine.Operation
	for _, r := range requests {
		end := r.End
		if r.Kind == Write {
			seen, ok := stored[r.Value]
			if !ok && r.Outcome == Accepted {
				c.find("reads", id, "the value %q was accepted, and never stored", r.Value)
			}
			if !ok {
				continue
			}
			if r.Outcome == Unknown {
				if end = seen; r.Begin.After(seen) {
					end = r.Begin
				}
			}
		} else if r.Outcome != Accepted {
			continue
		}
		operations = append(operations, porcupine.Operation{
			ClientId: r.Client, Input: r, Output: r.Value, Call: r.Begin.UnixNano(), Return: end.UnixNano(),
		})
	}
	return operations
}
