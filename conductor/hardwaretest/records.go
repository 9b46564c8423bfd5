// SPDX-License-Identifier: Apache-2.0

package hardwaretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/kinds"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

func (t *tester) checkDescription(context.Context) {
	d := t.Hardware.Describe()
	for _, kind := range kinds.Required {
		if len(d.Interfaces[kind]) == 0 {
			try.Failf("there is no interface of the kind %s", kind)
		}
	}
	for kind, names := range d.Interfaces {
		if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) || slices.Contains(names, "") {
			try.Failf("the names of the kind %s are %q, want different ones", kind, names)
		}
	}
	for key, text := range d.Properties {
		if key == "" || text == "" {
			try.Failf("the key %q of driver_info has the description %q", key, text)
		}
	}
	before := fmt.Sprint(d)
	for _, names := range d.Interfaces {
		clear(names)
	}
	clear(d.Properties)
	clear(d.Interfaces)
	if fmt.Sprint(t.Hardware.Describe()) != before {
		try.Failf("a caller that changes a description changes the next one")
	}
}

func (t *tester) checkValid(context.Context) {
	before := t.Changes()
	n := t.node.Clone()
	problems := t.Hardware.Validate(n)
	if !reflect.DeepEqual(n, t.node) {
		try.Failf("a validation changes the record")
	}
	for _, kind := range []string{"power", "management"} {
		if err, ok := problems[kind]; !ok || err != nil {
			try.Failf("the validation of the Config's node has %v for %s, want nil", err, kind)
		}
	}
	if sent := t.Changes() - before; sent != 0 {
		try.Failf("a validation sent %d requests", sent)
	}
	t.checkSecrets(problems)
}

// checkSecrets fails if a problem's text has a secret.
func (t *tester) checkSecrets(problems map[string]error) {
	for at, err := range problems {
		for i, secret := range t.Secrets {
			if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
				try.Failf("the error of %s contains the secret %d", at, i)
			}
		}
	}
}

// strangeValues are values that a client may give for any key.
var strangeValues = []any{nil, "", "\x00", "a b", 7, -1.5, true, []any{"a"}, map[string]any{"a": "b"}, strings.Repeat("a", 1<<16)}

// checkInvalid replaces each value of driver_info. A node that is then invalid must not be operated.
func (t *tester) checkInvalid(ctx context.Context) {
	keys := map[string]string{}
	maps.Copy(keys, t.Hardware.Describe().Properties)
	recorded := t.node.Clone()
	if t.device != "" {
		_ = t.boots.SetBootDevice(ctx, recorded, t.device, true) // another promise is about its error
	}
	for key := range t.node.DriverInfo {
		keys[key] = ""
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for _, value := range strangeValues {
			n := t.node.Clone()
			n.DriverInfo, n.DriverInternalInfo = map[string]any{key: value}, maps.Clone(recorded.DriverInternalInfo)
			for other, given := range t.node.DriverInfo {
				if other != key {
					n.DriverInfo[other] = given
				}
			}
			if value == nil {
				delete(n.DriverInfo, key)
			}
			try.Within(fmt.Sprintf("with another value of %s, a %T", key, value), func() { t.checkRefused(ctx, n) })
		}
	}
}

func (t *tester) checkRefused(ctx context.Context, n *conductor.Node) {
	problems := t.Hardware.Validate(n)
	for kind, err := range problems {
		if err != nil && !errors.Is(err, conductor.Invalid) && !errors.Is(err, conductor.Unsupported) {
			try.Failf("the validation of %s matches neither conductor.Invalid nor conductor.Unsupported: %T", kind, err)
		}
	}
	t.checkSecrets(problems)
	before := t.Changes()
	if t.device != "" && problems["management"] != nil {
		recorded := n.Clone()
		err := t.boots.SetBootDevice(ctx, n, t.device, false)
		switch sent := t.Changes() - before; {
		case err == nil:
			try.Failf("the management interface is invalid, and the boot device was set")
		case sent != 0:
			try.Failf("the management interface is invalid, and a boot device sent %d requests", sent)
		case !reflect.DeepEqual(n, recorded):
			try.Failf("the management interface is invalid, and a boot device changes the record")
		}
		t.checkSecrets(map[string]error{"SetBootDevice": err})
	}
	if problems["power"] == nil {
		return
	}
	_, err := t.Hardware.PowerState(ctx, n)
	if err == nil {
		try.Failf("the power interface is invalid, and the power state was read")
	}
	set := t.Hardware.SetPower(ctx, n, states.PowerOn)
	if set == nil {
		try.Failf("the power interface is invalid, and the power state was set")
	}
	if sent := t.Changes() - before; sent != 0 {
		try.Failf("the power interface is invalid, and %d requests were sent", sent)
	}
	t.checkSecrets(map[string]error{"PowerState": err, "SetPower": set})
}

// kindNeededFor has the kinds of hardware interfaces without which the conductor refuses work. A node that has the
// interface gets the work, which then fails if it has no step.
var kindNeededFor = map[states.Work]string{states.WorkInspect: "inspect", states.WorkRescue: "rescue", states.WorkUnrescue: "rescue"}

func (t *tester) checkSteps(context.Context) {
	before := t.Changes()
	for work := range states.AllWorks() {
		if work == states.WorkVerify {
			continue
		}
		n := t.node.Clone()
		n.ProvisionState = work.Working()
		steps := t.Hardware.Steps(n, work)
		try.Within(fmt.Sprintf("work %s", work), func() { t.checkStepsOf(steps) })
		automatic := slices.ContainsFunc(steps, func(s conductor.Step) bool { return s.Priority > 0 })
		kind, known := kindNeededFor[work]
		mustHave := work == states.WorkDelete || work == states.WorkAdopt || known && t.Hardware.Describe().Has(n, kind)
		if mustHave && !automatic {
			try.Failf("work %s has no step with a priority above 0", work)
		}
	}
	if sent := t.Changes() - before; sent != 0 {
		try.Failf("a list of steps sent %d requests", sent)
	}
}

func (t *tester) checkStepsOf(steps []conductor.Step) {
	interfaces := t.Hardware.Describe().Interfaces
	seen := map[string]bool{}
	for _, s := range steps {
		switch {
		case s.Step == "" || seen[s.String()]:
			try.Failf("the step %q has no name of its own", s.String())
		case interfaces[s.Interface] == nil:
			try.Failf("the step %s is of an interface that the description lacks", s)
		case s.Run == nil:
			try.Failf("the step %s has no function", s)
		case s.Priority < 0:
			try.Failf("the step %s has the priority %d", s, s.Priority)
		}
		for name, argument := range s.ArgsInfo {
			if name == "" || argument.Description == "" {
				try.Failf("the argument %q of the step %s has no description", name, s)
			}
			if argument.Required && s.Priority > 0 {
				try.Failf("the step %s runs automatically, and needs the argument %s", s, name)
			}
		}
		seen[s.String()] = true
	}
}
