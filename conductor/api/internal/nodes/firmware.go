// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// firmwareFields are the fields of a firmware component.
//
// Source: ironic/api/controllers/v1/firmware.py.
var firmwareFields = []string{"component", "initial_version", "current_version", "last_version_flashed"}

// listFirmware answers GET /v1/nodes/NODE/firmware. As in Ironic, detail=true leaves out the fields but
// the times.
func listFirmware(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("detail", "fields")
	fields, detail := rest.FieldSet(a.List("fields")), a.Boolean("detail")
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if fields, err = r.ChooseFields(fields, detail, firmwareFields, since.Firmware); err != nil {
		return rest.Answer{}, err
	}
	return rest.ObjectWith("firmware", func(w *wire.Writer) {
		w.OpenList()
		for _, c := range n.Firmware {
			w.Open()
			w.Key("created_at").Time(&c.CreatedAt)
			w.Key("updated_at").Time(c.UpdatedAt)
			for i, value := range []string{c.Component, c.InitialVersion, c.CurrentVersion, c.LastVersionFlashed} {
				if slices.Contains(fields, firmwareFields[i]) {
					w.Key(firmwareFields[i]).TextOrNull(value)
				}
			}
			w.Close()
		}
		w.CloseList()
	}), nil
}
