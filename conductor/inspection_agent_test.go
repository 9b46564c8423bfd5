// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// nics returns the network interfaces of an inventory, the first with the MAC address 52:54:00:00:PART:00.
func nics(part, number int) []any {
	list := make([]any, number)
	for i := range list {
		list[i] = map[string]any{
			"name":        fmt.Sprint("eth", i),
			"mac_address": fmt.Sprintf("52:54:00:00:%02x:%02x", part, i),
			"client_id":   fmt.Sprintf("ff:%02x", i),
		}
	}
	return list
}

// SECURITY.md: An inspection takes the data of one agent, and makes at most 128 ports.
func TestAnInventoryHasWhatAMachineCanHave(t *testing.T) {
	long := make([]any, 1025)
	// As an agent lists them that has one interface for each VLAN that LLDP names: metal3-io/ironic-image#246.
	vlans := nics(1, 2)
	for i := range 200 {
		vlans = append(vlans, map[string]any{"name": fmt.Sprintf("eth%d.%d", i%2, 100+i), "mac_address": fmt.Sprintf("52:54:00:00:01:%02X", i%2)})
	}
	for name, c := range map[string]struct {
		inventory map[string]any
		want      string // the text of the refusal, "" for none
		ports     int
	}{
		"128 interfaces": {map[string]any{"interfaces": nics(1, 128), "disks": long[:1024]}, "", 128},
		"202 interfaces, of which 200 are of VLANs": {map[string]any{"interfaces": vlans}, "", 2},
		"129 interfaces": {
			map[string]any{"interfaces": nics(1, 129)},
			"The inventory has the addresses of 129 network interfaces: a machine has at most 128.", 1,
		},
		"many disks": {
			map[string]any{"interfaces": nics(1, 1), "disks": long},
			"The inventory has a list of 1025 entries, more than 1024.", 1,
		},
		"many flags within": {
			map[string]any{"interfaces": nics(1, 1), "cpu": map[string]any{"a": []any{map[string]any{"flags": long}}}},
			"list of 1025 entries", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, waitsForAgent)
				n := f.inspecting(nil, "52:54:00:00:01:00")
				_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, map[string]any{"inventory": c.inventory}, n.UUID, false)
				if c.want == "" {
					require.NoError(t, err)
					_, _, ports := f.inspected(f.settle(n))
					require.Len(t, ports, c.ports)
					return
				}
				require.ErrorIs(t, err, conductor.Invalid)
				require.ErrorContains(t, err, c.want)
				require.Equal(t, states.InspectWait, f.settle(n).ProvisionState, "the agent may send others")
				require.Len(t, f.portsOf(n), c.ports)
				_, err = f.Object(f.ctx, conductor.KindInventory, n.UUID)
				require.ErrorIs(t, err, conductor.NotFound)
			})
		})
	}
}

// SECURITY.md: An inspection takes the data of one agent, and makes at most 128 ports.
func TestOfTwoAgentsOneEndsTheInspection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &interrupted{}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
		n := f.inspecting(nil, "52:54:00:00:01:00")
		send := func(part int) error {
			_, _, err := f.ContinueInspection(f.ctx, netip.Addr{},
				map[string]any{"inventory": map[string]any{"interfaces": nics(part, 2)}}, n.UUID, false)
			return err
		}
		var others []error
		store.beforeUpdate(conductor.KindPort, func() error { // the first one's data are being stored
			others = append(others, send(2))
			return nil
		})
		require.NoError(t, send(1))
		require.Len(t, others, 1)
		require.ErrorIs(t, others[0], conductor.Locked)
		got := f.settle(n)
		require.ErrorIs(t, send(3), conductor.NotFound)
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Empty(t, got.Reservation)
		_, inventory, ports := f.inspected(got)
		require.Equal(t, []any{"52:54:00:00:01:00", "52:54:00:00:01:01"}, inventory.PluginData["macs"])
		require.Len(t, ports, 2)

		f.request(n, "inspect")
		f.settle(n)
		var group sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			group.Go(func() { results[i] = send(10 + i) })
		}
		group.Wait()
		winners := 0
		for i, err := range results {
			if err == nil {
				winners++
				_, inventory, _ := f.inspected(f.settle(n))
				require.Equal(t, fmt.Sprintf("52:54:00:00:%02x:00", 10+i), inventory.PluginData["macs"].([]any)[0])
				continue
			}
			require.True(t, errors.Is(err, conductor.NotFound) || errors.Is(err, conductor.Locked), "%v", err)
		}
		require.Equal(t, 1, winners)
		require.Len(t, f.portsOf(n), 4)
	})
}

func TestTheWriteOfInspectionDataKeepsTheReservationForTheWorkOfTheOwner(t *testing.T) {
	for _, c := range []struct {
		series      states.Series
		owned       string
		to          states.State // after the data
		reservation string
	}{
		{states.Bobcat, "alpha", states.Inspecting, "alpha"},
		{states.Bobcat, "beta", states.Inspecting, ""},
		{states.Antelope, "alpha", states.Manageable, ""},
		{states.Antelope, "beta", states.Manageable, ""},
	} {
		t.Run(c.series.String()+" "+c.owned, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(config *conductor.Config) { config.Membership, config.Table = peers{}, c.series.Table() })
				for {
					n := f.create(conductor.Node{ProvisionState: states.InspectWait})
					if owner, ok := f.Owner(n); !ok || owner.Hostname != c.owned {
						continue
					}
					_, _, err := f.ContinueInspection(f.ctx, agentAt, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, false)
					require.NoError(t, err)
					break
				}
				move := <-f.seen
				require.Equal(t, c.to, move.Node.ProvisionState)
				require.Equal(t, c.reservation, move.Node.Reservation)
				require.Equal(t, c.reservation == "", move.Node.Claim == "")
			})
		})
	}
}

func TestDataThatCouldNotBeStoredCanBeSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, broken := &interrupted{}, errors.New("the store does not answer")
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		data := inventoryOf("52:54:00:00:00:0a", nil)
		store.beforeUpdate(conductor.KindPort, func() error { return broken })
		_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, data, n.UUID, true)
		require.ErrorIs(t, err, broken)
		waits := f.settle(n)
		require.Equal(t, states.InspectWait, waits.ProvisionState)
		require.Empty(t, waits.Reservation)
		_, err = f.Object(f.ctx, conductor.KindInventory, n.UUID)
		require.ErrorIs(t, err, conductor.NotFound, "the inventory is stored after the ports, since the rules may change it")

		_, _, err = f.ContinueInspection(f.ctx, netip.Addr{},
			inventoryOf("52:54:00:00:00:0a", map[string]any{"hostname": "second"}), n.UUID, false)
		require.NoError(t, err)
		got, inventory, _ := f.inspected(f.settle(n))
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Equal(t, "second", inventory.Inventory["hostname"])
		require.Len(t, f.portsOf(n), 1)
	})
}

// A panic ends one request. It keeps neither the node's reservation nor its worker.
func TestDataWithWhichTheConductorPanicsKeepNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &interrupted{}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		send := func() error {
			_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, true)
			return err
		}
		store.beforeUpdate(conductor.KindPort, func() error { panic("a defect") })
		require.PanicsWithValue(t, "a defect", func() { _ = send() })
		require.Empty(t, f.settle(n).Reservation)
		require.NoError(t, send())
		got, _, _ := f.inspected(f.settle(n))
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
	})
}

// SECURITY.md: Control characters leave every text of an agent before it is stored.
func TestTheTextsOfInspectionDataHaveNoControlCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		got, inventory, ports := f.sends(n, `{
			"inventory": {
				"interfaces": [{"name": "eth\u001b0", "mac_address": "52:54:00:00:00:0a", "client_id": "ff\u009b:00"}],
				"cpu": {"architecture": "x86\u001b[2J\u202e", "flags": ["a\u007fb", "`+strings.Repeat("x", 3000)+`"]}, "host\u0007name": "a\nb"
			},
			"root\u001b": {"a": ["\u2028"]}
		}`)
		require.Equal(t, "x86 [2J", got.Properties["cpu_arch"])
		require.Equal(t, "a b", inventory.Inventory["host name"])
		flags := inventory.Inventory["cpu"].(map[string]any)["flags"].([]any)
		require.Equal(t, "a b", flags[0])
		require.Len(t, flags[1], 2048)
		require.Equal(t, map[string]any{"a": []any{" "}}, inventory.PluginData["root "])
		require.Contains(t, inventory.PluginData["all_interfaces"], "eth 0")
		require.Equal(t, "ff :00", ports["52:54:00:00:00:0a"].Extra["client-id"])
	})
}

// To clean texts takes most of the processor time of a request without a password, so that it is done once for each
// inspection.
func TestTheTextsOfDataThatNoNodeWaitsForAreNotCleaned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		texts := make([]any, 1000)
		for i := range texts {
			texts[i] = "http://user:password@host/\x1b"
		}
		data := inventoryOf("52:54:00:00:00:0a", map[string]any{"texts": texts})
		_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, data, n.UUID, false)
		require.NoError(t, err)
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
		require.Less(t, testing.AllocsPerRun(10, func() {
			_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, data, n.UUID, false)
			require.ErrorIs(t, err, conductor.NotFound)
		}), 500.0)
	})
}

// SECURITY.md: Control characters leave every text of an agent before it is stored.
func TestTheTextsOfAHeartbeatHaveNoControlCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withReal(nil))
		n := f.waitsInDeployment()
		_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
		require.NoError(t, err)
		beat := conductor.Heartbeat{
			From:          agentAt,
			CallbackURL:   "http://10.0.0.7:9999",
			AgentVersion:  "9\x1b[2J",
			AgentToken:    token,
			AgentVerifyCA: "-----BEGIN\r\n\t~",
		}
		require.NoError(t, f.Heartbeat(f.ctx, n.UUID, beat))
		got := f.settle(n)
		require.Equal(t, "9 [2J", got.Agent.Version)
		require.Equal(t, beat.AgentVerifyCA, got.Agent.VerifyCA)
		for _, text := range []string{"\x1b", "\x7f", "\u0085", "\u202e", "\x00"} {
			beat.AgentVerifyCA = text
			require.ErrorContains(t, f.Heartbeat(f.ctx, n.UUID, beat), "agent_verify_ca is not a certificate in PEM")
		}
	})
}

// portReads counts the reads of ports.
type portReads struct {
	conductor.Memory
	gets atomic.Int64
}

func (s *portReads) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	if kind == conductor.KindPort {
		s.gets.Add(1)
	}
	return s.Memory.Get(ctx, kind, key)
}

func TestALookupReadsOnlyThePortsOfItsAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &portReads{}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		var addresses []string
		for i := range 127 {
			addresses = append(addresses, fmt.Sprintf("52:54:00:00:01:%02X", i))
		}
		before := store.gets.Load()
		got, _, err := f.Lookup(f.ctx, netip.Addr{}, slices.Repeat(append(addresses, "52:54:00:00:00:0A"), 3), "")
		require.NoError(t, err)
		require.Equal(t, n.UUID, got.UUID)
		require.LessOrEqual(t, store.gets.Load()-before, int64(128))
		_, _, err = f.Lookup(f.ctx, netip.Addr{}, append(addresses, "", "a"), "")
		require.ErrorIs(t, err, conductor.Invalid)
		_, _, err = f.Lookup(f.ctx, netip.Addr{}, []string{""}, "")
		require.ErrorIs(t, err, conductor.NotFound)
	})
}

// BenchmarkInspectionData measures the largest data of an agent that make ports.
func BenchmarkInspectionData(b *testing.B) {
	c, err := conductor.New(conductor.Config{
		Store:         &conductor.Memory{},
		Hardware:      map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
		SkipPowerSync: true,
	})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	require.NoError(b, c.Ready(ctx))
	for part := 0; b.Loop(); part++ {
		n, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.InspectWait})
		require.NoError(b, err)
		inventory := map[string]any{"interfaces": nics(part, 128)}
		for i, nic := range inventory["interfaces"].([]any) {
			nic.(map[string]any)["mac_address"] = fmt.Sprintf("52:54:%02x:%02x:%02x:%02x", part>>16&255, part>>8&255, part&255, i)
		}
		_, _, err = c.ContinueInspection(ctx, netip.Addr{}, map[string]any{"inventory": inventory}, n.UUID, false)
		require.NoError(b, err)
	}
	stop()
	<-ended
}
