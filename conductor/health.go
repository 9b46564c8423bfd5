// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// HealthReader is a [Hardware] that reads the health of its machines. In series with the field health, which is in API
// 1.109, the power sync calls it after it has read a node's power state. A failure is logged, and the record keeps what
// it has.
//
// Source: node_cache_health in ironic/conductor/utils.py.
type HealthReader interface {
	// ReadHealth reads the health of the node's machine: "OK", "WARNING" or "CRITICAL", or "" if it is not known.
	ReadHealth(ctx context.Context, n *Node) (string, error)
}

// healthAPI is the first API version with the field health.
const healthAPI = 109

// health reads the health of a node's machine, or returns the health in the record.
func (p powerRounds) health(ctx context.Context, n *Node) string {
	config := p.engine.config
	reader, ok := config.Hardware[n.Driver].(HealthReader)
	if !ok || config.SkipHealth || config.Table.Series().MaxAPIVersion() < healthAPI {
		return n.Health
	}
	read := make(chan string, 1) // a call that is abandoned may still send
	_, err := p.engine.callPower(ctx, Operation{Name: "read health", Node: n}, func(ctx context.Context) (states.Power, error) {
		health, err := reader.ReadHealth(ctx, n)
		read <- health
		return states.NoPower, err
	})
	if err != nil {
		config.Log.Warn("the health of a node could not be read", "node", n.UUID, "error", err)
		return n.Health
	}
	return <-read
}

// health adds a change of a machine's health to its node's history.
func (h history) health(ctx context.Context, before, n *Node) {
	if n.Health == before.Health {
		return
	}
	event := fmt.Sprintf("Node health status changed: health='%s' (previously '%s')", cmp.Or(n.Health, "None"), cmp.Or(before.Health, "None"))
	h.add(ctx, before, "INFO", event, "monitoring")
	if n.Health == "WARNING" || n.Health == "CRITICAL" {
		h.config.Log.Warn("a machine has a problem", "node", n.UUID, "health", n.Health)
	}
}
