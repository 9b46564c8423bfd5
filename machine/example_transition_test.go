// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// A hook sends notifications in the form of Ironic's provision notification.
func ExampleTransition() {
	notify := func(_ context.Context, t machine.Transition) error {
		text, err := json.MarshalIndent(t, "", "  ")
		fmt.Printf("baremetal.node.provision_set.%s %s\n", t.Status, text)
		return err
	}
	m, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
		Name:  "rack1-u7",
		Enter: []machine.Hook{notify},
		Now:   func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		panic(err)
	}
	if err := m.Fire(context.Background(), states.EventManage); err != nil {
		panic(err)
	}
	// Output:
	// baremetal.node.provision_set.start {
	//   "node": "rack1-u7",
	//   "event": "manage",
	//   "previous_provision_state": "enroll",
	//   "previous_target_provision_state": null,
	//   "previous_last_error": null,
	//   "provision_state": "verifying",
	//   "target_provision_state": "manageable",
	//   "last_error": null,
	//   "power_state": null,
	//   "time": "2026-11-22T12:00:00Z",
	//   "status": "start"
	// }
}

// Log logs each transition, with failures as errors.
func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	m, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Deploying, Target: states.Active},
		Name:  "rack1-u7",
		Enter: []machine.Hook{machine.Log(logger)},
	})
	if err != nil {
		panic(err)
	}
	if err := m.Report(context.Background(), states.EventFail, "no image"); err != nil {
		panic(err)
	}
	// Output:
	// level=ERROR msg="node moved" node=rack1-u7 event=fail from=deploying to="deploy failed" target=active status=error last_error="no image"
}
