// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/ironstate/ironstate/internal/try"
)

// normalizers has the fields of a node that are not compared as they are. A nil function
// excludes the field; otherwise the function's results are compared.
var normalizers = map[string]func(any) any{
	"created_at": nil, "updated_at": nil, "provision_updated_at": nil,
	"inspection_started_at": nil, "inspection_finished_at": nil,
	"links": nil, "ports": nil, "portgroups": nil, "states": nil, "volume": nil,
	"last_error":           present,
	"maintenance_reason":   present,
	"driver_internal_info": changed(withoutTimesAndMarks),
	"instance_info":        changed(withoutRescue),
}

func present(value any) any { return value != nil }

// withoutRescue removes the rescue password of instance_info. Ironstate removes it at the
// end of the rescue. In Ironic only the agent's interface does so, and the fake one does not.
func withoutRescue(info map[string]any) {
	delete(info, "rescue_password")
	delete(info, "hashed_rescue_password")
}

// withoutTimesAndMarks masks the time in driver_internal_info, and removes what Ironic keeps there for itself since
// 2026.2: a mark of manual cleanings, and the steps of a service that is over, as null.
func withoutTimesAndMarks(info map[string]any) {
	delete(info, "declarative_cleaning")
	if steps, there := info["service_steps"]; there && steps == nil {
		delete(info, "service_steps")
	}
	if _, ok := info["last_power_state_change"]; ok {
		info["last_power_state_change"] = "then"
	}
}

// changed returns a function that returns a copy of an object with a change, as JSON.
func changed(change func(map[string]any)) func(any) any {
	return func(value any) any {
		info, ok := value.(map[string]any)
		if !ok {
			return value
		}
		info = maps.Clone(info)
		change(info)
		text, _ := json.Marshal(info) // it was JSON
		return string(text)
	}
}

// compareRecords compares every field of the node that both APIs show, and its history.
func (l *life) compareRecords(ctx context.Context, what string, ironic Answer) *Difference {
	l.service.settle(ctx, l.uuid)
	_, ironstate := l.service.Client.Show(ctx, l.ironic.newest(), l.uuid)
	if ironstate.Status != ironic.Status {
		return &Difference{what + ", of ironstate's API", fmt.Sprint(ironic.Status), fmt.Sprintf("%d %s", ironstate.Status, ironstate.Fault)}
	}
	if ironstate.Status != http.StatusOK {
		return nil
	}
	if found := l.compareMoves(what); found != nil {
		return found
	}
	name := differingField(ironic.Body, ironstate.Body)
	if name == "" {
		return l.compareHistories(ctx, what)
	}
	return &Difference{what + ", field " + name + " of ironstate's API", field(ironic.Body, name), field(ironstate.Body, name)}
}

// compareMoves compares the order of states: the states of Ironic's node that polling saw
// since the last step are states of the node in ironstate, in the same order.
func (l *life) compareMoves(what string) *Difference {
	polled := l.seen[l.compared:]
	l.compared = len(l.seen)
	moves := l.service.takeMoves(l.uuid)
	left := moves
	for _, at := range polled {
		i := slices.Index(left, at.State)
		if i < 0 {
			return &Difference{what + ", states in order, of ironstate's API", fmt.Sprint(polled), fmt.Sprint(moves)}
		}
		left = left[i:] // the same state may be seen twice, with another target
	}
	return nil
}

// differingField returns the first field that differs between two nodes or that only one
// of them has, or "" if there is none.
func differingField(ironic, ironstate []byte) string {
	var want, got map[string]any
	try.OKf(json.Unmarshal(ironic, &want), "lockstep: ironic's node")
	try.OKf(json.Unmarshal(ironstate, &got), "lockstep: ironstate's node")
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inWant := want[name]
		b, inGot := got[name]
		normalize, special := normalizers[name]
		switch {
		case inWant != inGot:
			return name
		case special && normalize == nil:
		case special && normalize(a) != normalize(b), !special && !reflect.DeepEqual(a, b):
			return name
		}
	}
	return ""
}

// field returns a field of a node as JSON, or "absent".
func field(node []byte, name string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(node, &fields) != nil || fields[name] == nil {
		return "absent"
	}
	return string(fields[name])
}
