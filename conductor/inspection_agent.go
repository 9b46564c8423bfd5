// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/internal/inspectionhooks"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// ContinueInspection handles the inspection data of an agent: it finds the node that waits for them, by its UUID, by
// the MAC addresses and by the BMC's addresses in the data, which must agree, stores them, and continues the
// inspection. Data that say that the agent failed, or that have no usable network interface, fail the inspection;
// that is no error of ContinueInspection. The ports of the node then tell by pxe_enabled which of them has booted
// the agent. With lookup the node is looked up as by [Conductor.Lookup] before the data are stored, since they may
// end the inspection, after which no agent may look the node up; without it the token is empty. Numbers in data are
// [json.Number]. Control characters in texts become spaces.
//
// The node is reserved while its data are stored, which refuses one of two agents, and the data of an
// inspection are taken once. The error matches [Invalid] if the data name no address and uuid is empty, or if they
// have more than 128 MAC addresses or more than 1,024 entries in another list of the inventory, [NotFound] if
// no node waits for the data, [Locked] if the node's inspection has not begun to wait, or another conductor or
// request works on the node, and [NoWorker].
//
// Source: continue_inspection in ironic/conductor/inspection.py, and the default hooks in
// ironic/drivers/modules/inspector/hooks: ramdisk-error, validate-interfaces, ports and architecture, with Ironic's
// default options. Then the inspection rules are applied, see inspection_rules.go.
func (c *Conductor) ContinueInspection(
	ctx context.Context, from netip.Addr, data map[string]any, uuid string, lookup bool,
) (n *Node, token string, err error) {
	inventory, _ := data["inventory"].(map[string]any)
	if err := boundInventory(inventory); err != nil {
		return nil, "", err
	}
	if uuid == "" && len(inspectionhooks.Addresses(inventory)) == 0 && inventory["bmc_address"] == nil && inventory["bmc_v6address"] == nil {
		return nil, "", refuse(Invalid, "No lookup information provided")
	}
	n, err = c.fleet.inspected(ctx, uuid, inventory)
	if err == nil {
		err = awaitsInspection(n)
	}
	if err != nil {
		return nil, "", err
	}
	i := &agentInspection{conductor: c, from: from, inventory: inventory, data: data, lookup: lookup}
	err = c.fleet.retryLocked(ctx, func() error { return i.take(ctx, n.UUID) })
	return i.node, i.token, err
}

// maxListed bounds the entries of a list in an inventory, such as a machine's disks and the flags of its processor.
const maxListed = 1024

// boundInventory refuses an inventory that no machine has. The interfaces of VLANs, of which an agent of Metal3 lists
// one for each VLAN that LLDP names, have the addresses of their network interfaces.
//
// Source: pull request 246 of github.com/metal3-io/ironic-image.
func boundInventory(inventory map[string]any) error {
	if count := len(inspectionhooks.Addresses(inventory)); count > maxInterfaces {
		return refuse(Invalid, "The inventory has the addresses of %d network interfaces: a machine has at most %d.", count, maxInterfaces)
	}
	if longest := longestList(inventory); longest > maxListed {
		return refuse(Invalid, "The inventory has a list of %d entries, more than %d.", longest, maxListed)
	}
	return nil
}

// longestList returns the length of the longest list in a decoded JSON value.
func longestList(v any) (longest int) {
	switch v := v.(type) {
	case []any:
		longest = len(v)
		for _, item := range v {
			longest = max(longest, longestList(item))
		}
	case map[string]any:
		for _, item := range v {
			longest = max(longest, longestList(item))
		}
	}
	return longest
}

// awaitsInspection refuses the data of an agent for a node whose inspection does not wait for them.
func awaitsInspection(n *Node) error {
	switch {
	case inspection.waits(n):
		return nil
	case kindOf(n.ProvisionState) == inspection:
		return refuse(Locked, "Node %s does not wait for inspection data yet.", n.UUID)
	default:
		return refuse(NotFound, "Node %s does not wait for inspection data: it is in provision state %q.", n.UUID, n.ProvisionState)
	}
}

// agentInspection is the data of an agent on their way into the records of a node.
type agentInspection struct {
	conductor       *Conductor
	from            netip.Addr
	inventory, data map[string]any
	lookup          bool

	// node and token are what ContinueInspection returns.
	node  *Node
	token string
}

// clean cleans the texts of the data, and leaves out the logs, which can be large. Nothing of the data is stored
// before. It comes after the node has been taken, since it needs far more processor time than the rest of a request.
func (i *agentInspection) clean() {
	data := map[string]any{}
	for key, value := range i.data {
		if key != "inventory" && key != "logs" {
			data[errtext.Clean(key)] = errtext.Value(value)
		}
	}
	i.inventory, i.data = errtext.Object(i.inventory), data
}

// take takes the node, if it still waits for the data, stores them and continues its inspection.
func (i *agentInspection) take(ctx context.Context, id string) error {
	e := i.conductor.engine
	s, n, err := e.take(ctx, id, awaitsInspection)
	if err != nil {
		return err
	}
	t, stored := e.task(n), false
	defer func() {
		if !stored { // an error, or a panic, which ends the request alone
			i.takeTokenBack(ctx, id)
			_ = e.unreserve(ctx, s, id, nil)
			e.pool.Free(id)
		}
	}()
	i.clean()
	if err := i.store(ctx, s, t); err != nil {
		return err
	}
	stored = true
	if t.Node().Claim != s.id {
		e.pool.Free(id)
		return nil
	}
	s.run.group.Go(func() {
		defer e.pool.Free(id)
		t.run(s.ctx)
	})
	return nil
}

// takeTokenBack removes the agent's token from a node if the agent will not get it, since its request fails: its next
// request gets another one. A store that does not accept that, as one without a leader, is asked again for a time.
func (i *agentInspection) takeTokenBack(ctx context.Context, id string) {
	if i.token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	for {
		_, _, err := i.conductor.fleet.edit(ctx, id, func(n *Node) error {
			if n.Agent.Token != i.token {
				return errNothingToDo
			}
			n.Agent.Token, n.Agent.From = "", netip.Addr{}
			return nil
		})
		switch {
		case err == nil || errors.Is(err, errNothingToDo) || errors.Is(err, NotFound):
			return
		case !sleep.For(ctx, reportBackoff):
			i.conductor.config.Log.Warn("an agent keeps a token that it has not got, since the store has failed", "node", id, "error", err)
			return
		}
	}
}

// store stores the data and continues the inspection of the task's node. The same write drops the reservation,
// unless this process has more to do.
func (i *agentInspection) store(ctx context.Context, s *session, t *Task) error {
	id := t.Node().UUID
	if i.lookup { // before the end of the inspection, after which no agent may look the node up
		n, token, err := i.conductor.Lookup(ctx, i.from, nil, id)
		if err != nil {
			return err
		}
		i.token = token
		t.record.set(n, 0)
	}
	i.node = t.Node()
	cpu, _ := i.inventory["cpu"].(map[string]any)
	architecture, _ := cpu["architecture"].(string)
	described, failure, err := t.runHooks(ctx, i.inventory, i.data, func(n *Node) {
		if architecture != "" {
			setKey(&n.Properties, "cpu_arch", architecture)
		}
	})
	if err != nil {
		return err
	}
	change := func(*Node) {}
	if failure == nil {
		r, err := t.applyRules(ctx, described, i.inventory, i.data)
		if err != nil {
			return err
		}
		change, i.data, failure = r.change, r.data, r.failure
	}
	if failure == nil {
		if err := i.conductor.fleet.storeInventory(ctx, id, i.inventory, i.data); err != nil {
			return err
		}
	} else {
		//lint:ignore ST1005 the text is Ironic's, in conductor/inspection.py
		failure = fmt.Errorf("Failed to finish inspection: %w", failure)
	}
	before := t.Node()
	failure, err = t.record.conclude(ctx, failure, func(n *Node, failure error, ramdisk ramdiskUse) error {
		if !n.isAtWorkOf(before) {
			return errEnded
		}
		if !unstorable(failure) {
			change(n)
		}
		if failure == nil {
			n.Agent.LastHeartbeat = now() // for fast track
		}
		err := i.conductor.rules.callBack(n, failure, ramdisk, now())
		if !n.hasWork() || !s.owns(n) {
			n.drop()
		}
		return err
	})
	if errors.Is(err, errEnded) { // by an earlier attempt
		err = nil
	}
	if err == nil && failure != nil {
		at, began := before.Clone(), now() // the data take the node from inspect wait to inspecting
		at.ProvisionState, at.ProvisionUpdatedAt = states.Inspecting, &began
		i.conductor.engine.history.failed(ctx, at, t.Node())
	}
	return err
}

// inspected returns the node of an agent's inventory. It has the UUID, unless that is empty, and the ports with the MAC
// addresses; without both it is the only node that waits for an inspection and whose BMC has an address in the
// inventory. If the UUID, the ports and the BMC do not agree, the error matches [NotFound].
//
// Source: lookup_node in ironic/drivers/modules/inspect_utils.py.
func (f *fleet) inspected(ctx context.Context, uuid string, inventory map[string]any) (n *Node, err error) {
	none := refuse(NotFound, "No node that waits for an inspection agrees with the inventory.")
	if uuid != "" {
		if n, err = f.node(ctx, uuid); err != nil {
			return nil, err
		}
	}
	switch byMAC, err := f.byAddress(ctx, inspectionhooks.Addresses(inventory)); {
	case errors.Is(err, NotFound): // no port, or ports of several nodes
	case err != nil:
		return nil, err
	case n != nil && n.UUID != byMAC:
		return nil, none
	default:
		if n, err = f.node(ctx, byMAC); err != nil {
			return nil, err
		}
	}
	byBMC, err := f.inspectedByBMC(ctx, inventory)
	switch {
	case err != nil:
		return nil, err
	case n == nil && len(byBMC) == 1:
		return byBMC[0], nil
	case n == nil, len(byBMC) > 0 && !slices.ContainsFunc(byBMC, func(other *Node) bool { return other.UUID == n.UUID }):
		return nil, none
	}
	return n, nil
}

// inspectedByBMC returns the nodes that wait for an inspection and whose BMC has an address in an inventory.
func (f *fleet) inspectedByBMC(ctx context.Context, inventory map[string]any) (found []*Node, err error) {
	var wanted []any
	for _, key := range []string{"bmc_address", "bmc_v6address"} {
		text, _ := inventory[key].(string)
		if address, err := netip.ParseAddr(text); err == nil && !address.IsUnspecified() && !address.IsLoopback() {
			wanted = append(wanted, address.Unmap().String())
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	all, err := f.listNodes(ctx)
	if err != nil {
		return nil, err
	}
	isWanted := func(address any) bool { return slices.Contains(wanted, address) }
	for _, n := range all {
		if inspection.waits(n) && slices.ContainsFunc(n.lookupAddresses(), isWanted) {
			found = append(found, n)
		}
	}
	return found, nil
}

const (
	// lookupAddresses is the key of driver_internal_info for the addresses of the BMC of a node that waits for an
	// inspection, maxLookupAddresses at most.
	lookupAddresses    = "lookup_bmc_addresses"
	maxLookupAddresses = 128
)

// lookupAddresses returns the addresses of the BMC of a node that waits for an inspection. They are those in
// driver_info if an earlier release has begun the inspection.
func (n *Node) lookupAddresses() []any {
	addresses, noted := n.DriverInternalInfo[lookupAddresses].([]any)
	if !noted {
		for _, host := range n.bmcHosts() {
			if address, err := netip.ParseAddr(host); err == nil {
				addresses = append(addresses, address.Unmap().String())
			}
		}
	}
	return addresses
}

// bmcHosts returns the hosts in driver_info, in the order of their keys: names and addresses.
func (n *Node) bmcHosts() (hosts []string) {
	for _, key := range slices.Sorted(maps.Keys(n.DriverInfo)) {
		host, ok := n.DriverInfo[key].(string)
		if !ok || !strings.HasSuffix(key, "_address") {
			continue
		}
		if at, err := url.Parse(host); err == nil && at.Host != "" {
			host = at.Hostname()
		} else if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		hosts = append(hosts, strings.Trim(host, "[]"))
	}
	return hosts
}

// noteBMCAddresses stores the addresses of the hosts in driver_info with the next write of the record: an agent may
// know its machine by an address of the BMC alone. Names are resolved, within resolveTimeout.
//
// Source: cache_lookup_addresses in ironic/drivers/modules/inspect_utils.py.
func (t *Task) noteBMCAddresses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	var addresses []any
	for _, host := range t.Node().bmcHosts() {
		found, err := t.engine.resolve(ctx, "ip", host)
		if err != nil {
			t.engine.config.Log.Warn("the host of a BMC is unknown, and an inspection cannot find its node by it",
				"node", t.Node().UUID, "host", host, "error", err)
		}
		for _, address := range found {
			text := address.Unmap().String()
			if !address.IsLoopback() && len(addresses) < maxLookupAddresses && !slices.Contains(addresses, any(text)) {
				addresses = append(addresses, text)
			}
		}
	}
	t.record.updateLater(func(n *Node) {
		delete(n.DriverInternalInfo, lookupAddresses)
		if len(addresses) > 0 {
			setKey(&n.DriverInternalInfo, lookupAddresses, addresses)
		}
	})
}
