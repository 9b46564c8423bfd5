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
)

// unlike are the fields of a node that are not compared as they are. A nil function
// excludes the field; otherwise the function's results are compared.
var unlike = map[string]func(any) any{
	"created_at": nil, "updated_at": nil, "provision_updated_at": nil,
	"inspection_started_at": nil, "inspection_finished_at": nil,
	"links": nil, "ports": nil, "portgroups": nil, "states": nil, "volume": nil,
	"last_error":           present,
	"maintenance_reason":   present,
	"driver_internal_info": changed(withoutTimes),
	"instance_info":        changed(withoutRescue),
}

func present(value any) any { return value != nil }

// withoutRescue removes the rescue password of instance_info. Our conductor removes it at the
// end of the rescue. In Ironic only the agent's interface does so, and the fake one does not.
func withoutRescue(info map[string]any) {
	delete(info, "rescue_password")
	delete(info, "hashed_rescue_password")
}

// withoutTimes masks the time in driver_internal_info.
func withoutTimes(info map[string]any) {
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
func (l *life) compareRecords(ctx context.Context, what string, ironic Answer) (*Difference, error) {
	if _, err := l.service.settle(ctx, l.uuid); err != nil {
		return nil, err
	}
	_, ours, err := l.service.Client.Show(ctx, newest, l.uuid)
	if err != nil {
		return nil, err
	}
	if ours.Status != ironic.Status {
		return &Difference{what + ", of our API", fmt.Sprint(ironic.Status), fmt.Sprintf("%d %s", ours.Status, ours.Fault)}, nil
	}
	if ours.Status != http.StatusOK {
		return nil, nil
	}
	if found := l.compareMoves(what); found != nil {
		return found, nil
	}
	theirField, err := differingField(ironic.Body, ours.Body)
	if err != nil {
		return nil, err
	}
	if theirField == "" {
		return l.compareHistories(ctx, what)
	}
	return &Difference{what + ", field " + theirField + " of our API", field(ironic.Body, theirField), field(ours.Body, theirField)}, nil
}

// compareMoves compares the order of states: the states of Ironic's node that polling saw
// since the last step are states of our node, in the same order.
func (l *life) compareMoves(what string) *Difference {
	polled := l.seen[l.compared:]
	l.compared = len(l.seen)
	moves := l.service.takeMoves(l.uuid)
	left := moves
	for _, at := range polled {
		i := slices.Index(left, at.State)
		if i < 0 {
			return &Difference{what + ", states in order, of our API", fmt.Sprint(polled), fmt.Sprint(moves)}
		}
		left = left[i:] // the same state may be seen twice, with another target
	}
	return nil
}

// differingField returns the first field that differs between two nodes or that only one
// of them has, or "" if there is none.
func differingField(ironic, ours []byte) (string, error) {
	var theirs, mine map[string]any
	if err := json.Unmarshal(ironic, &theirs); err != nil {
		return "", fmt.Errorf("lockstep: ironic's node: %w", err)
	}
	if err := json.Unmarshal(ours, &mine); err != nil {
		return "", fmt.Errorf("lockstep: our node: %w", err)
	}
	all := maps.Clone(theirs)
	maps.Copy(all, mine)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		their, inTheirs := theirs[name]
		my, inMine := mine[name]
		alike, ok := unlike[name]
		switch {
		case inTheirs != inMine:
			return name, nil
		case ok && alike == nil:
		case ok && alike(their) != alike(my), !ok && !reflect.DeepEqual(their, my):
			return name, nil
		}
	}
	return "", nil
}

// field returns a field of a node as JSON, or "absent".
func field(node []byte, name string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(node, &fields) != nil || fields[name] == nil {
		return "absent"
	}
	return string(fields[name])
}
