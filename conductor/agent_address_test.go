// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/conductor"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/states"
)

func networks(list ...string) (all conductor.AgentNetworks) {
	for _, text := range list {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// SECURITY.md: Commands go only to the address from which the heartbeat came, or to one in a network of
// `-agent-network`.
func TestAnAgentHasTheAddressOfItsHeartbeatOrOneOfAListedNetwork(t *testing.T) {
	for _, c := range []struct {
		networks        conductor.AgentNetworks
		source, address string
		refused         string // part of the error; empty for a permitted address
	}{
		{nil, "10.0.0.7", "10.0.0.7", ""},
		{nil, "10.0.0.7", "10.0.0.8", "10.0.0.8 is neither the address of the heartbeat, 10.0.0.7, nor in a network of agents"},
		{nil, "::ffff:10.0.0.7", "10.0.0.7", ""},
		{nil, "10.0.0.7", "::ffff:10.0.0.7", ""},
		{nil, "2001:db8::7", "2001:db8::7", ""},
		{nil, "2001:db8::7", "10.0.0.7", "neither"},
		{nil, "", "10.0.0.7", "neither"},
		{nil, "", "", "there is no address"},
		{nil, "127.0.0.1", "127.0.0.1", "127.0.0.1 is in 127.0.0.0/8, which no network of agents lists"},
		{nil, "127.0.0.1", "127.8.8.8", "127.0.0.0/8"},
		{nil, "127.0.0.1", "::ffff:127.0.0.1", "127.0.0.0/8"},
		{nil, "::1", "::1", "::1/128"},
		{nil, "0.0.0.0", "0.0.0.0", "0.0.0.0/8"},
		{nil, "::", "::", "::/128"},
		{nil, "169.254.169.254", "169.254.169.254", "169.254.0.0/16"},
		{nil, "fe80::1%eth0", "fe80::1%eth0", "fe80::/10"},
		{nil, "224.0.0.1", "224.0.0.1", "224.0.0.0/4"},
		{nil, "ff02::1", "ff02::1", "ff00::/8"},
		{nil, "255.255.255.255", "255.255.255.255", "255.255.255.255/32"},
		{networks("10.0.0.0/24"), "192.0.2.1", "10.0.0.8", ""},
		{networks("10.0.0.0/24"), "192.0.2.1", "::ffff:10.0.0.8", ""},
		{networks("10.0.0.0/24"), "192.0.2.1", "10.0.1.8", "neither"},
		{networks("10.0.0.0/24"), "10.0.1.8", "10.0.1.8", ""},
		{networks("10.0.0.0/24", "2001:db8::/64"), "10.0.0.1", "2001:db8::8", ""},
		{networks("0.0.0.0/0", "::/0"), "10.0.0.7", "127.0.0.1", "127.0.0.0/8"},
		{networks("0.0.0.0/0", "::/0"), "10.0.0.7", "::1", "::1/128"},
		{networks("0.0.0.0/0", "::/0"), "10.0.0.7", "203.0.113.9", ""},
		{networks("126.0.0.0/7"), "10.0.0.7", "127.0.0.1", "127.0.0.0/8"},
		{networks("127.0.0.0/8"), "10.0.0.7", "127.0.0.1", ""},
		{networks("127.0.0.1/32"), "127.0.0.1", "127.0.0.1", ""},
		{networks("127.0.0.1/32"), "127.0.0.1", "127.0.0.2", "127.0.0.0/8"},
		{networks("127.0.0.0/8"), "127.0.0.1", "::1", "::1/128"},
		{networks("fe80::/10"), "10.0.0.7", "fe80::1%eth0", ""},
		{networks("169.254.0.0/16"), "10.0.0.7", "169.254.7.7", ""},
	} {
		var source, address netip.Addr
		if c.source != "" {
			source = netip.MustParseAddr(c.source)
		}
		if c.address != "" {
			address = netip.MustParseAddr(c.address)
		}
		err := c.networks.Check(source, address)
		if c.refused == "" {
			require.NoError(t, err, "%+v", c)
			continue
		}
		require.ErrorContains(t, err, c.refused, "%+v", c)
	}
}

// isOrdinary reports whether a machine may have the address in a network with routers.
func isOrdinary(a netip.Addr) bool { return a.IsGlobalUnicast() && !(a.Is4() && a.As4()[0] == 0) }

// TestNoNetworkOfMachinesPermitsTheHostItself draws networks and addresses, many of them near each other.
//
// SECURITY.md: A loopback, link-local or multicast address must be in a listed network of its own.
func TestNoNetworkOfMachinesPermitsTheHostItself(t *testing.T) {
	drawn := rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "IPv4") {
			first := rapid.SampledFrom([]byte{0, 10, 126, 127, 169, 223, 224, 255}).Draw(t, "first")
			return netip.AddrFrom4([4]byte{first, rapid.SampledFrom([]byte{0, 254, 255}).Draw(t, "second"), 0, rapid.Byte().Draw(t, "last")})
		}
		bytes := [16]byte{rapid.SampledFrom([]byte{0, 0x20, 0xfe, 0xff}).Draw(t, "first"), rapid.SampledFrom([]byte{0, 0x80}).Draw(t, "second")}
		bytes[15] = rapid.ByteRange(0, 2).Draw(t, "last")
		return netip.AddrFrom16(bytes)
	})
	rapid.Check(t, func(t *rapid.T) {
		var list conductor.AgentNetworks
		for _, at := range rapid.SliceOfN(drawn, 0, 3).Draw(t, "networks") {
			list = append(list, netip.PrefixFrom(at, rapid.IntRange(0, at.BitLen()).Draw(t, "bits")))
		}
		source, address := drawn.Draw(t, "source"), drawn.Draw(t, "address")
		listed := slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(address) })
		permitted := list.Check(source, address) == nil
		switch {
		case isOrdinary(address):
			require.Equal(t, address == source || listed, permitted)
		case permitted:
			require.True(t, listed)
			require.True(t, slices.ContainsFunc(list, func(p netip.Prefix) bool {
				return p.Contains(address) && p.Bits() >= 4 && !isOrdinary(p.Masked().Addr())
			}), "a network that has no machine's address")
		}
	})
}

// TestAHeartbeatNamesNoHostButItsOwn sends heartbeats with the right token. Nothing of a refused one is stored, and
// nothing is dialled.
//
// SECURITY.md: Commands go only to the address from which the heartbeat came, or to one in a network of
// `-agent-network`. A path, a query or a user in the URL of a heartbeat is refused.
func TestAHeartbeatNamesNoHostButItsOwn(t *testing.T) {
	names := map[string][]netip.Addr{
		"machine.example": {netip.MustParseAddr("10.0.0.7")}, "two.example": {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.7")},
		"elsewhere.example": {netip.MustParseAddr("10.0.0.8"), netip.MustParseAddr("127.0.0.1")}, "none.example": nil,
	}
	const host = `An issue with the supplied "callback_url" has been detected: its host is not permitted.`
	for url, refused := range map[string]string{
		"http://10.0.0.7:9999": "", "https://10.0.0.7:9999/": "", "http://10.0.0.7": "",
		"http://[::ffff:10.0.0.7]:9999": "", "http://machine.example:9999": "",
		"http://two.example:9999": "", "": "",
		"http://10.0.0.8:9999": host, "http://127.0.0.1:9999": host, "http://[::1]:9999": host,
		"http://169.254.169.254": host, "http://elsewhere.example": host,
		"http://none.example": host, "http://unknown.example": host,
		"http://10.0.0.7:9999/redfish/v1":  `An issue with the supplied "callback_url" has been detected: it has a path`,
		"http://10.0.0.7:9999?a=b":         `An issue with the supplied "callback_url" has been detected: it has a user, a query or a fragment`,
		"http://u:SECRET@10.0.0.7:9999":    `An issue with the supplied "callback_url" has been detected: it has a user, a query or a fragment`,
		"http://10.0.0.7:9999/#a":          `An issue with the supplied "callback_url" has been detected: it has a user, a query or a fragment`,
		"gopher://10.0.0.7:9999":           `An issue with the supplied "callback_url" has been detected: it is not an http or https URL`,
		"http://10.0.0.7:9999/SECRET\x00a": `An issue with the supplied "callback_url" has been detected: it is not an http or https URL`,
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			m := startMachine(t, states.CleanHold, func(c *conductor.Config) {
				c.Agent.Dial = func(context.Context, string, string) (net.Conn, error) {
					t.Error("a heartbeat that is refused, or of work on hold, makes the conductor send nothing")
					return nil, errors.New("connection refused")
				}
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			m.SetResolver(func(_ context.Context, _, host string) ([]netip.Addr, error) {
				if all, known := names[host]; known {
					return all, nil
				}
				return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.0.2.53:53"}
			})
			_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error { n.Agent.Token = "T"; return nil })
			require.NoError(t, err)
			err = m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{From: agentAt, CallbackURL: url, AgentVersion: "9", AgentToken: "T"})
			n := m.settle(m.n)
			if refused == "" {
				require.NoError(t, err, url)
				require.Equal(t, url, n.Agent.URL)
				require.Equal(t, agentAt, n.Agent.From)
				return
			}
			require.EqualError(t, err, refused, url)
			require.ErrorIs(t, err, conductor.Invalid)
			require.Empty(t, n.Agent.URL)
			require.NotContains(t, log.String(), "SECRET")
			if refused == host {
				require.Contains(t, log.String(), `level=WARN msg="the address of an agent is refused" node=`+n.UUID)
				require.Contains(t, log.String(), " from=10.0.0.7 ")
			}
		})
	}
}

func TestAStrangerMakesTheConductorLookUpNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.SetResolver(func(context.Context, string, string) ([]netip.Addr, error) {
			t.Error("a name was looked up")
			return nil, nil
		})
		m.clean("deploy.erase_devices")
		beat := conductor.Heartbeat{From: agentAt, CallbackURL: "http://machine.example", AgentVersion: "9", AgentToken: "wrong"}
		require.EqualError(t, m.Heartbeat(m.ctx, m.n.UUID, beat), "Invalid or missing agent token received.")
		_, _, err := m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
		require.NoError(t, err)
		require.EqualError(t, m.Heartbeat(m.ctx, m.n.UUID, beat), "Invalid or missing agent token received.")
	})
}

// TestANameThatResolvesAnewIsCheckedAtTheDial changes the address of the agent's name after the heartbeat, as a DNS
// server can. The conductor dials the address that it has checked.
//
// SECURITY.md: The address of a name is checked again at each connection.
func TestANameThatResolvesAnewIsCheckedAtTheDial(t *testing.T) {
	for later, want := range map[string]struct {
		dialled []string
		failure string
	}{
		"10.0.0.7":        {[]string{"10.0.0.7:9999"}, "connection refused"},
		"127.0.0.1":       {nil, "127.0.0.1 is in 127.0.0.0/8, which no network of agents lists"},
		"169.254.169.254": {nil, "169.254.169.254 is in 169.254.0.0/16, which no network of agents lists"},
		"10.0.0.8":        {nil, "10.0.0.8 is neither the address of the heartbeat, 10.0.0.7, nor in a network of agents"},
	} {
		synctest.Test(t, func(t *testing.T) {
			dialled := make(chan string, 100)
			m := startMachine(t, states.Manageable, func(c *conductor.Config) {
				c.Agent.Attempts = 1
				c.Agent.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
					dialled <- address
					return nil, errors.New("connection refused")
				}
			})
			lookups := 0
			m.SetResolver(func(context.Context, string, string) ([]netip.Addr, error) {
				if lookups++; lookups == 1 {
					return []netip.Addr{agentAt}, nil
				}
				return []netip.Addr{netip.MustParseAddr(later)}, nil
			})
			m.clean("deploy.erase_devices")
			_, token, err := m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
			require.NoError(t, err)
			require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
				From:         agentAt,
				CallbackURL:  "http://machine.example:9999",
				AgentVersion: "9",
				AgentToken:   token,
			}))
			n := m.settle(m.n)
			require.Equal(t, states.CleanFail, n.ProvisionState)
			require.Contains(t, n.LastError, want.failure)
			close(dialled)
			var got []string
			for address := range dialled {
				got = append(got, address)
			}
			require.Subset(t, want.dialled, got)
			require.Equal(t, want.dialled == nil, got == nil)
		})
	}
}

// TestTheAddressOfAnAgentIsTheCallersChoice gives a function that permits one address more.
func TestTheAddressOfAnAgentIsTheCallersChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type asked struct{ source, address netip.Addr }
		questions := make(chan asked, 100)
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.AgentAddress = func(source, address netip.Addr) error {
				questions <- asked{source, address}
				return nil
			}
		})
		m.clean("deploy.erase_devices_metadata")
		_, m.token, _ = m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
		m.agent.reset(m.token)
		beat := conductor.Heartbeat{From: agentAt, CallbackURL: "http://127.0.0.1:9999", AgentVersion: "9", AgentToken: m.token}
		require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, beat))
		require.Equal(t, states.CleanWait, m.settle(m.n).ProvisionState)
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step erase_devices_metadata"}, m.heard())
		require.GreaterOrEqual(t, len(questions), 3, "at the heartbeat, and at each dial")
		for range len(questions) {
			require.Equal(t, asked{agentAt, netip.MustParseAddr("127.0.0.1")}, <-questions)
		}
	})
}
