// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"log/slog"
	"maps"

	"github.com/ironstate/ironstate/conductor/internal/inspectionhooks"
	"github.com/ironstate/ironstate/states"
)

// InspectionHooks returns the names that [Config.InspectionHooks] may have in a series, in order; none before 2023.2.
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

// setProperties sets properties that hooks have derived.
func setProperties(n *Node, properties map[string]any) {
	for name, value := range properties {
		set(&n.Properties, name, value)
	}
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
		byMAC[normalMAC(mac)] = link
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
		_, err := edit(ctx, f, port.UUID, func(p *Port) error {
			p.LocalLinkConnection = linked(p)
			return nil
		})
		if err != nil && !errors.Is(err, NotFound) { // a client may have deleted it
			return err
		}
	}
	return nil
}
