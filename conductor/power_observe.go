// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ironstate/ironstate/verify"
)

// HealthReader is a [Hardware] that reads the health of its machines. In series with the field health, which is in API
// 1.109, the power sync calls it after it has read a node's power state. If the read fails, the record keeps the health
// that it has. The failure is logged as a warning, or at the level DEBUG if the read before has failed in the same way.
//
// Source: node_cache_health in ironic/conductor/utils.py.
type HealthReader interface {
	// ReadHealth reads the health of the node's machine: "OK", "WARNING" or "CRITICAL", or "" if it is not known.
	ReadHealth(ctx context.Context, n *Node) (string, error)
}

// ReadSharer is a [HealthReader] or a [CacheReader] whose reads in one round of the power sync have requests in common.
type ReadSharer interface {
	// ShareReads returns the context with which a round calls ReadHealth, ReadVendor and ReadBootMode for one node, after
	// it has read and stored the power: a request that they have in common may be made once. It is called for each node
	// in each round, and sends nothing to the hardware.
	ShareReads(context.Context) context.Context
}

// The first API versions with the fields health and boot_mode.
const (
	healthAPI   = 109
	bootModeAPI = 75
)

// observation has the properties of a machine that a round of the power sync records besides the power state.
type observation struct {
	health string
	boot   bootState
	vendor string // "" if the node has one, or none was read
}

// recorded returns the properties that a node's record has now.
func recorded(n *Node) observation {
	return observation{health: n.Health, boot: bootState{n.BootMode, n.SecureBoot}}
}

// observe reads the health, the boot mode and the missing vendor of a node's machine in a round of the power sync, and
// stores them. It does nothing if [Config].SkipHealth is set. The round has stored its decision about the power before.
// If somebody has changed the record meanwhile, observe stores nothing, and the next round reads again.
//
// Source: do_sync_power_state in ironic/conductor/manager.py.
func (p powerRounds) observe(ctx context.Context, n *Node) {
	if p.engine.config.SkipHealth {
		return
	}
	seen := p.read(ctx, n)
	if seen.equals(n) {
		return
	}
	changed := n.Clone()
	seen.store(changed)
	changed, err := p.engine.fleet.save(ctx, changed)
	switch {
	case err == nil:
		p.engine.history.health(ctx, n, changed)
	case !errors.Is(err, ErrConflict) && ctx.Err() == nil:
		p.engine.config.Log.Warn("what was read of a machine could not be stored", "node", n.UUID, "error", err)
	}
}

// read reads the properties from the machine. It returns the record's value of a property that it cannot read.
func (p powerRounds) read(ctx context.Context, n *Node) observation {
	config, o := p.engine.config, recorded(n)
	version, ended := config.Table.Series().MaxAPIVersion(), false
	if sharer, ok := config.Hardware[n.Driver].(ReadSharer); ok {
		shared, err := askHardware(ctx, p.engine.types, n, "a context for its reads", func() context.Context { return sharer.ShareReads(ctx) })
		if err == nil && shared != nil {
			ctx = shared
		}
	}
	if reader, ok := config.Hardware[n.Driver].(HealthReader); ok && version >= healthAPI {
		ended = observed(ctx, p.engine, n, "health", reader.ReadHealth, &o.health)
	}
	reader, ok := config.Hardware[n.Driver].(CacheReader)
	if ok && !n.hasVendor() && !ended {
		ended = observed(ctx, p.engine, n, "vendor", readVendor(reader, config.Table.Series()), &o.vendor)
	}
	if ok && version >= bootModeAPI && !ended {
		observed(ctx, p.engine, n, "boot mode", readBoot(reader), &o.boot)
	}
	return o
}

// observed reads something of a node's machine into the value to, which a failure leaves as it is. It reports whether
// the round has to read no more of the machine: the BMC has refused the log-in, or the context has ended.
func observed[T any](
	ctx context.Context, e *engine, n *Node, what string, read func(context.Context, *Node) (T, error), to *T,
) (ended bool) {
	o, purpose := Operation{Name: "read " + what, Node: n}, "to read the "+what
	found, err := callPower(ctx, e, e.syncer.Config().Timeout, o, purpose, func(ctx context.Context) (T, error) { return read(ctx, n) })
	of := readOf{n.UUID, what}
	switch {
	case err == nil:
		e.failedReads.Delete(of)
		*to = found
		return false
	case ctx.Err() != nil:
		return true
	default:
		e.config.Log.Log(ctx, e.failed(of, err), "the "+what+" of a node could not be read", "node", n.UUID, "error", err)
		return verify.LoginRefused(err)
	}
}

// readOf is a read of something of a node's machine in a round of the power sync.
type readOf struct{ node, what string }

// failed returns the level at which a failure of a read is logged: Debug after one with the same text, as a BMC may
// forbid the read for good.
func (e *engine) failed(of readOf, err error) slog.Level {
	if before, _ := e.failedReads.Swap(of, err.Error()); before == err.Error() {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// forgetReads forgets the failed reads of nodes that are deleted.
func (e *engine) forgetReads() {
	e.failedReads.Range(func(of, _ any) bool {
		if e.fleet.nodes.Get(of.(readOf).node) == nil {
			e.failedReads.Delete(of)
		}
		return true
	})
}

// equals reports whether a node's record already has these properties.
func (o observation) equals(n *Node) bool {
	same := o.boot.secure == n.SecureBoot || o.boot.secure != nil && n.SecureBoot != nil && *o.boot.secure == *n.SecureBoot
	return same && o.boot.mode == n.BootMode && o.health == n.Health && o.vendor == ""
}

// store stores what was read in a node's record.
func (o observation) store(n *Node) {
	n.Health, n.BootMode, n.SecureBoot = o.health, o.boot.mode, o.boot.secure
	if o.vendor != "" {
		setKey(&n.Properties, "vendor", o.vendor)
	}
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
