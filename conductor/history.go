package conductor

import (
	"context"

	"github.com/ironstate/ironstate/states"
)

// History returns the entries of a node's history, oldest first: an [Object] of
// [KindHistory] each, with the fields severity, event, event_type and conductor. The
// error matches [NotFound], or is the store's.
//
// Source: ironic/objects/node_history.py.
func (c *Conductor) History(ctx context.Context, ident string) ([]*Object, error) {
	n, err := c.Node(ctx, ident)
	if err != nil {
		return nil, err
	}
	return c.ObjectsOf(ctx, KindHistory, n.UUID)
}

// eventTypes maps the state in which work has failed to the event_type of the history entry.
var eventTypes = map[states.State]string{
	states.Verifying: "verify", states.Inspecting: "introspection", states.InspectWait: "introspection",
	states.Cleaning: "cleaning", states.CleanWait: "cleaning", states.CleanHold: "cleaning",
	states.Deploying: "deploying", states.DeployWait: "deploying", states.DeployHold: "deploying",
	states.Deleting: "unprovision", states.Rescuing: "rescue", states.RescueWait: "rescue",
	states.Unrescuing: "rescue", states.Adopting: "adoption",
	states.Servicing: "servicing", states.ServiceWait: "servicing", states.ServiceHold: "servicing",
}

// recordFailure adds a node's last error to its history. A failure to store the entry is
// logged and does not affect the node's work.
func (c *Conductor) recordFailure(ctx context.Context, n *Node, from states.State) {
	if n.LastError == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	_, err := c.CreateObject(ctx, &Object{
		Kind: KindHistory, NodeUUID: n.UUID,
		Fields: map[string]any{
			"severity": "ERROR", "event": n.LastError, "event_type": eventTypes[from], "conductor": c.config.Name,
		},
	})
	if err == nil {
		err = c.trimHistory(ctx, n)
	}
	if err != nil {
		c.config.Log.Warn("the node's history could not be stored", "node", n.UUID, "error", err)
	}
}

// trimHistory deletes the oldest entries beyond MaxHistory. It does nothing before the
// index of the history has been filled.
func (c *Conductor) trimHistory(ctx context.Context, n *Node) error {
	index := c.objects(KindHistory)
	if !index.isSynced() {
		return nil
	}
	entries, err := index.listOf(ctx, n.UUID)
	if err != nil {
		return err
	}
	for len(entries) > c.config.MaxHistory {
		if err := c.deleteObject(ctx, KindHistory, entries[0].UUID); err != nil {
			return err
		}
		entries = entries[1:]
	}
	return nil
}
