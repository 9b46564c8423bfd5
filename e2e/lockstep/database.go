// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	_ "embed"
	"fmt"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

//go:embed python/database.py
var databaseProgram string

// longestReservation is the time, in seconds, after which a reservation is taken for one that Ironic has lost. It is
// much longer than a busy machine needs.
const longestReservation = "300"

// database is Ironic's own database. Writes to it bypass Ironic.
type database struct {
	*python
}

// row is the compared part of a node in Ironic's database.
type row struct {
	machine.Node
	Reservation string       `json:"reservation"`
	Moved       string       `json:"provision_updated_at"`
	Power       states.Power `json:"power_state"`
	TargetPower states.Power `json:"target_power_state"`
	Maintenance int          `json:"maintenance"`
	Fault       string       `json:"fault"`
	Error       string       `json:"error"`
}

// columns holds the values to write, by column.
type columns map[string]any

// image is the image of each instance. Later Ironics, such as 29.0.5, fail by a Python exception when a node without
// one is rebuilt.
const image = "http://127.0.0.1/image"

// columnsOf returns the columns of a node without work and without a trace of earlier work.
func columnsOf(node machine.Node) columns {
	c := columns{
		"provision_state":        node.State,
		"target_provision_state": node.Target,
		"provision_updated_at":   nil,
		"inspection_started_at":  nil,
		"last_error":             nil,
		"target_power_state":     nil,
		"maintenance":            0,
		"maintenance_reason":     nil,
		"fault":                  nil,
		"clean_step":             "{}",
		"deploy_step":            "{}",
		"driver_internal_info":   "{}",
		"instance_info":          `{"image_source": "` + image + `"}`,
		"instance_uuid":          nil,
	}
	if node.LastError != "" {
		c["last_error"] = node.LastError
	}
	return c
}

// read returns a node's row.
func (d *database) read(uuid string) row { return d.write(uuid, nil) }

// write waits until the node is not reserved, writes the columns and returns the new
// row.
func (d *database) write(uuid string, set columns) row {
	return d.ask(map[string]any{"uuid": uuid, "set": set}, "node %s in the database", uuid)
}

// Wipe removes all records from Ironic's database, except its conductor's. No node
// may have work.
func (i *Ironic) Wipe() error {
	return try.Catch(func() { i.database.ask(map[string]any{"wipe": true}, "remove all records") })
}

// ask asks a question, whose answer may be without a row. The text says what for.
func (d *database) ask(question any, format string, args ...any) (r row) {
	try.Within("lockstep: "+fmt.Sprintf(format, args...), func() {
		if d.python.ask(question, &r); r.Error != "" {
			try.Failf("%s", r.Error)
		}
	})
	return r
}
