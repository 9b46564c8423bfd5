// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
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

// firmwareFieldsOf returns the fields that a version has.
func firmwareFieldsOf(version states.APIVersion) []string {
	if version < since.FirmwareIdentity {
		return firmwareFields[:4]
	}
	return firmwareFields
}

// listFirmware answers GET /v1/nodes/NODE/firmware. As in Ironic, detail=true leaves out the fields but
// the times.
var listFirmware = checks{
	firmwareQueryValid, nodeExists, firmwareFieldsChosen,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.ObjectWith("firmware", func(w *wire.Writer) {
		wire.List(w, q.node.Firmware, func(c conductor.FirmwareComponent) {
			w.Open()
			w.Key("created_at").Time(&c.CreatedAt)
			w.Key("updated_at").Time(c.UpdatedAt)
			values := []string{c.Component, c.InitialVersion, c.CurrentVersion, c.LastVersionFlashed, c.Vendor, c.Model, c.SerialNumber}
			for i, name := range firmwareFieldsOf(q.Version) {
				if slices.Contains(q.shown, name) {
					w.Key(name).TextOrNull(values[i])
				}
			}
			w.Close()
		})
	}), nil
})

// firmwareQueryValid reads the query, since 2025.2 by a schema.
func firmwareQueryValid(q *request) error {
	q.args = q.QueryArgs("detail", "fields")
	switch q.shown = fields.of(q); {
	case q.args.Err != nil || q.Series < states.Flamingo:
		detail.check(q.args)
		return q.args.Err
	case q.args.Has("detail"): // the schema takes no text, and a query has nothing else
		return fault.Invalid("Schema error: %s is not of type 'boolean'", fault.Repr(q.args.Values["detail"]))
	}
	return fault.OneOf(slices.Concat([]string{"created_at", "updated_at"}, firmwareFieldsOf(q.Highest)), q.shown...)
}

// firmwareFieldsChosen chooses the fields of a list. It refuses fields that are newer than the version of the request.
func firmwareFieldsChosen(q *request) (err error) {
	known := firmwareFieldsOf(q.Version)
	later := slices.Sorted(slices.Values(firmwareFields[len(known):]))
	later = slices.DeleteFunc(later, func(name string) bool { return !slices.Contains(q.shown, name) })
	if len(later) > 0 && q.Highest >= since.FirmwareIdentity {
		return fault.Invalid("Fields %s are not allowed in this API version. They require at least API version 1.%d.",
			strings.Join(later, ", "), since.FirmwareIdentity)
	}
	q.shown, err = q.ChooseFields(q.shown, detail.of(q), known, since.Firmware)
	return err
}
