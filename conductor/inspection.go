// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/inspectionhooks"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// StoreInspection stores what an inspection by the BMC has found out about the task's node, in place of an earlier
// inspection's results, and creates a port for each MAC address that no port has; describe sets the node's properties.
// In series before 2023.2 no inventory is stored. Since 2025.2 the data are handled as an agent's: macs is not used,
// all interfaces of the inventory get ports, and since no interface has booted an agent, pxe_enabled is false for all
// ports. Then the inspection rules run on the node with these properties. A rule that fails is an error. Numbers in the
// maps are [json.Number].
//
// Source: inspect_hardware in ironic/drivers/modules/redfish/inspect.py; store_inspection_data and
// create_ports_if_not_exist in inspect_utils.py; [redfish]inspection_hooks, with its default.
func (t *Task) StoreInspection(
	ctx context.Context, inventory, pluginData map[string]any, macs []string, describe func(*Node),
) error {
	inventory, pluginData = errtext.Object(inventory), errtext.Object(pluginData)
	if pluginData == nil {
		pluginData = map[string]any{} // the hooks add theirs
	}
	// The update fails if the task has lost its node.
	if err := t.Update(ctx, func(*Node) error { return nil }); err != nil {
		return err
	}
	f, n := t.engine.fleet, t.Node()
	if t.Series() >= states.Flamingo {
		described, failure, err := t.runHooks(ctx, inventory, pluginData, describe)
		if err := cmp.Or(err, failure); err != nil {
			return err
		}
		// Ironic stores them before the rules have changed them, unlike an agent's.
		if err := f.storeInventory(ctx, n.UUID, inventory, pluginData); err != nil {
			return err
		}
		r, err := t.applyRules(ctx, described, inventory, pluginData)
		if err != nil {
			return err
		}
		err = t.Update(ctx, func(n *Node) error { r.change(n); return nil })
		return cmp.Or(err, r.failure)
	}
	if t.Series() >= states.Bobcat {
		if err := f.storeInventory(ctx, n.UUID, inventory, pluginData); err != nil {
			return err
		}
	}
	if err := f.addPorts(ctx, n.UUID, portsWith(macs)); err != nil {
		return err
	}
	return t.Update(ctx, func(n *Node) error { describe(n); return nil })
}

// AddPorts creates a port of the task's node for each MAC address that no port has.
//
// Source: create_ports_if_not_exist in ironic/drivers/modules/inspect_utils.py.
func (t *Task) AddPorts(ctx context.Context, macs []string) error {
	// The update fails if the task has lost its node.
	if err := t.Update(ctx, func(*Node) error { return nil }); err != nil {
		return err
	}
	return t.engine.fleet.addPorts(ctx, t.Node().UUID, portsWith(macs))
}

// moveInspection notes when the inspection of a node that moves from one state to another has begun, and ended.
func moveInspection(n *Node, from, to states.State, at time.Time) {
	switch work := to.Work(); {
	case runsIn(to):
		n.InspectionStartedAt, n.InspectionFinishedAt = &at, nil
	case work == states.NoWork && from != from.Work().Failed():
		n.InspectionStartedAt, n.InspectionFinishedAt = nil, &at
	case to == work.Failed():
		n.InspectionStartedAt = nil
		delete(n.DriverInternalInfo, lookupAddresses)
	}
}

// portsWith returns new ports with these addresses.
func portsWith(macs []string) []*Port {
	ports := make([]*Port, len(macs))
	for i, mac := range macs {
		ports[i] = &Port{Address: mac}
	}
	return ports
}

// runHooks runs Ironic's default hooks and the configured ones on the data of an inspection of the task's node, adds
// their results to the data, creates and updates the ports, and links them to their switches. described sets what
// describe sets, and the properties that the hooks have derived. After the failure of a default hook nothing is stored.
//
// Source: run_inspection_hooks in ironic/drivers/modules/inspect_utils.py.
func (t *Task) runHooks(
	ctx context.Context, inventory, data map[string]any, describe func(*Node),
) (described func(*Node), failure, err error) {
	id, f, config := t.Node().UUID, t.engine.fleet, t.engine.config
	ports, failure := defaultHooks(id, inventory, data)
	if failure != nil {
		return nil, failure, nil
	}
	hooked := config.optionalHooks(ctx, id, inventory, data)
	if err := f.addPorts(ctx, id, ports); err != nil {
		return nil, nil, err
	}
	if err := f.updatePorts(ctx, id, data["all_interfaces"].(map[string]any), config.KeepPXEEnabled); err != nil {
		return nil, nil, err
	}
	return func(n *Node) {
		describe(n)
		for name, value := range hooked.Properties {
			setKey(&n.Properties, name, value)
		}
	}, nil, f.linkPorts(ctx, id, hooked.Links)
}

// storeInventory stores the inventory of a node in place of an earlier one, which it does not decode.
func (f *fleet) storeInventory(ctx context.Context, id string, inventory, pluginData map[string]any) error {
	made := &Inventory{ObjectMeta: ObjectMeta{UUID: id, NodeUUID: id}, Inventory: inventory, PluginData: pluginData}
	_, err := f.createObject(ctx, made)
	for errors.Is(err, Exists) || errors.Is(err, ErrConflict) {
		var r Record
		if r, err = f.store.Get(ctx, KindInventory, id); err != nil {
			break
		}
		var old struct {
			CreatedAt time.Time `json:"created_at"`
		}
		if err := json.Unmarshal(r.Value, &old); err != nil {
			return fmt.Errorf("decode the inventory of node %s: %w", id, err)
		}
		updated := now()
		made.CreatedAt, made.UpdatedAt, made.Revision = old.CreatedAt, &updated, r.Revision
		if r, err = encodeObject(made); err != nil {
			return err
		}
		_, err = f.store.Update(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("store the inventory of node %s: %w", id, err)
	}
	return nil
}

// addPorts creates each port unless there is one with its address, which may also be another node's.
func (f *fleet) addPorts(ctx context.Context, id string, ports []*Port) error {
	for _, port := range ports {
		port.NodeUUID, port.IsSmartNIC = id, new(bool) // as of a port that a client creates
		if _, err := f.createObject(ctx, port); err != nil && !errors.Is(err, Exists) {
			return err
		}
	}
	return nil
}

// updatePorts stores in the ports of a node which of them has booted the agent, and their DHCP client IDs. A port that
// the inventory lacks has not booted the agent. With keep, pxe_enabled stays as it is.
//
// Source: update_ports in ironic/drivers/modules/inspector/hooks/ports.py, with Ironic's default options but for
// update_pxe_enabled.
func (f *fleet) updatePorts(ctx context.Context, node string, interfaces map[string]any, keep bool) error {
	byMAC := map[string]map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(interfaces)) {
		nic := interfaces[name].(map[string]any)
		mac := inspectionhooks.NormalMAC(nic["mac_address"])
		if client, _ := nic["client_id"].(string); byMAC[mac] == nil || client != "" { // a bond has the address of an interface, and no client ID
			byMAC[mac] = nic
		}
	}
	ports, err := f.portsOf(ctx, node)
	if err != nil {
		return err
	}
	for _, port := range ports {
		nic := byMAC[port.Address]
		before := port.PXEEnabled == nil || *port.PXEEnabled
		booted := nic["pxe_enabled"] == true
		if keep {
			booted = before
		}
		client, _ := nic["client_id"].(string)
		if before == booted && (client == "" || port.Extra["client-id"] == client) {
			continue
		}
		_, err := editObject(ctx, f, port.UUID, func(p *Port) error {
			if before != booted {
				p.PXEEnabled = &booted
			}
			if client != "" {
				p.Extra = maps.Clone(p.Extra)
				setKey(&p.Extra, "client-id", client)
			}
			return nil
		})
		if err != nil && !errors.Is(err, NotFound) { // a client may have deleted it
			return err
		}
	}
	return nil
}

// defaultHooks runs Ironic's default hooks on the data, and returns the ports to create.
func defaultHooks(id string, inventory, data map[string]any) (ports []*Port, err error) {
	interfaces, err := inspectionhooks.Default(id, inventory, data)
	for _, nic := range interfaces {
		port := &Port{Address: nic.MAC, PXEEnabled: &nic.PXE}
		if nic.Client != "" {
			port.Extra = map[string]any{"client-id": nic.Client} // which updatePorts then need not write
		}
		ports = append(ports, port)
	}
	return ports, err
}

// InspectionHooks returns the names that [Config.InspectionHooks] may have in a series, in order; none before 2024.1.
func InspectionHooks(series states.Series) []string { return inspectionhooks.Names(series) }

// optionalHooks runs the configured hooks on the data of an inspection, and adds their results to the data.
func (c *Config) optionalHooks(ctx context.Context, id string, inventory, data map[string]any) inspectionhooks.Changes {
	changes := inspectionhooks.Run(c.InspectionHooks, inspectionhooks.Input{
		Series: c.Table.Series(), Inventory: inventory, Data: data,
	})
	maps.Copy(data, changes.Data)
	for _, problem := range changes.Problems {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "inspection hook", slog.String("node", id), slog.String("message", problem))
	}
	return changes
}

// linkPorts stores to which switches the ports of a node are connected, by their MAC addresses. Keys that a port has
// already keep their values.
//
// Source: ironic/drivers/modules/inspector/hooks/local_link_connection.py.
func (f *fleet) linkPorts(ctx context.Context, node string, links map[string]map[string]any) error {
	if len(links) == 0 {
		return nil
	}
	byMAC := map[string]map[string]any{}
	for mac, link := range links {
		byMAC[inspectionhooks.NormalMAC(mac)] = link
	}
	ports, err := f.portsOf(ctx, node)
	if err != nil {
		return err
	}
	for _, port := range ports {
		link := byMAC[port.Address]
		linked := func(p *Port) map[string]any {
			merged := maps.Clone(link)
			maps.Copy(merged, p.LocalLinkConnection)
			return merged
		}
		if link == nil || len(linked(port)) == len(port.LocalLinkConnection) {
			continue
		}
		_, err := editObject(ctx, f, port.UUID, func(p *Port) error {
			p.LocalLinkConnection = linked(p)
			return nil
		})
		if err != nil && !errors.Is(err, NotFound) { // a client may have deleted it
			return err
		}
	}
	return nil
}
