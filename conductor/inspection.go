// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
)

// StoreInspection stores what an inspection has found out about the task's node, in place of an earlier
// inspection's results. It creates a port for each MAC address that no port has. Numbers in the maps are
// [json.Number].
//
// Source: store_inspection_data and create_ports_if_not_exist in ironic/drivers/modules/inspect_utils.py.
func (t *Task) StoreInspection(ctx context.Context, inventory, pluginData map[string]any, macs []string) error {
	// The update fails if the task has lost its node.
	if err := t.Update(ctx, func(*Node) error { return nil }); err != nil {
		return err
	}
	f, id := t.engine.fleet, t.Node().UUID
	meta := ObjectMeta{UUID: id, NodeUUID: id}
	_, err := f.createObject(ctx, &Inventory{ObjectMeta: meta, Inventory: inventory, PluginData: pluginData})
	if errors.Is(err, Exists) {
		_, err = edit(ctx, f, id, func(i *Inventory) error {
			i.Inventory, i.PluginData = inventory, pluginData
			return nil
		})
	}
	for _, mac := range macs {
		if err != nil {
			return err
		}
		_, err = f.createObject(ctx, &Port{ObjectMeta: ObjectMeta{NodeUUID: id}, Address: mac})
		if errors.Is(err, Exists) {
			err = nil // it may also be a port of another node, as in Ironic
		}
	}
	return err
}
