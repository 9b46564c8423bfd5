// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// firmwareFields are the fields of a firmware component, the last three since [since.FirmwareIdentity].
//
// Source: ironic/api/controllers/v1/firmware.py.
var firmwareFields = []string{"component", "initial_version", "current_version", "last_version_flashed", "vendor", "model", "serial_number"}

// listFirmware answers GET /v1/nodes/NODE/firmware. As in Ironic, detail=true leaves out the fields but
// the times.
func listFirmware(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("detail", "fields")
	fields := rest.FieldSet(a.List("fields"))
	if a.Err == nil && r.Series >= states.Flamingo {
		if a.Has("detail") { // the schema takes no text, and a query has nothing else
			return rest.Answer{}, fault.Invalid("Schema error: %s is not of type 'boolean'", fault.Repr(a.Values["detail"]))
		}
		known := slices.Concat([]string{"created_at", "updated_at"}, firmwareFields[:4])
		if r.Highest >= since.FirmwareIdentity {
			known = append(known, firmwareFields[4:]...)
		}
		if err := fault.OneOf(known, fields...); err != nil {
			return rest.Answer{}, err
		}
	}
	detail := a.Boolean("detail")
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	known := firmwareFields
	if r.Version < since.FirmwareIdentity {
		var later []string
		known, later = known[:4], known[4:]
		if r.Highest >= since.FirmwareIdentity {
			later = slices.DeleteFunc(slices.Sorted(slices.Values(later)), func(name string) bool { return !slices.Contains(fields, name) })
			if len(later) > 0 {
				return rest.Answer{}, fault.Invalid("Fields %s are not allowed in this API version. They require at least API version 1.%d.",
					strings.Join(later, ", "), since.FirmwareIdentity)
			}
		}
	}
	if fields, err = r.ChooseFields(fields, detail, known, since.Firmware); err != nil {
		return rest.Answer{}, err
	}
	return rest.ObjectWith("firmware", func(w *wire.Writer) {
		w.OpenList()
		for _, c := range n.Firmware {
			w.Open()
			w.Key("created_at").Time(&c.CreatedAt)
			w.Key("updated_at").Time(c.UpdatedAt)
			values := []string{c.Component, c.InitialVersion, c.CurrentVersion, c.LastVersionFlashed, c.Vendor, c.Model, c.SerialNumber}
			for i, name := range known {
				if slices.Contains(fields, name) {
					w.Key(name).TextOrNull(values[i])
				}
			}
			w.Close()
		}
		w.CloseList()
	}), nil
}
