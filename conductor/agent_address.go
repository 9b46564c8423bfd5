// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/special"
)

// AgentNetworks are the networks of the machines, from which their agents speak. The zero value has none. Its methods
// are safe for concurrent use.
type AgentNetworks []netip.Prefix

// Contains reports whether one of the networks has an address. A loopback, link-local, multicast, broadcast or
// unspecified address must be listed explicitly: 127.0.0.0/8 contains 127.0.0.1, and 0.0.0.0/0 does not.
func (a AgentNetworks) Contains(address netip.Addr) bool {
	address = special.Plain(address)
	least := special.Network(address).Bits() // -1 for the zero value
	return slices.ContainsFunc(a, func(p netip.Prefix) bool { return p.Bits() >= least && p.Contains(address) })
}

// Check is a [Config.AgentAddress]: it permits the address from which the heartbeat came, unless that is a loopback,
// link-local, multicast, broadcast or unspecified address, and the addresses that the networks contain.
func (a AgentNetworks) Check(source, address netip.Addr) error {
	source, address = special.Plain(source), special.Plain(address)
	network := special.Network(address)
	switch {
	case !address.IsValid():
		return errors.New("there is no address")
	case a.Contains(address):
		return nil
	case network.IsValid():
		return fmt.Errorf("%v is in %v, which no network of agents lists", address, network)
	case address != source:
		return fmt.Errorf("%v is neither the address of the heartbeat, %v, nor in a network of agents", address, source)
	default:
		return nil
	}
}

// resolveTimeout bounds how long the name of an agent's host is looked up.
const resolveTimeout = 5 * time.Second

// permitAgent returns an error unless an agent at the URL of a heartbeat may get requests. The error that matches
// [Invalid] is for the agent, and says nothing about names and addresses; the log has the reason.
func (e *engine) permitAgent(ctx context.Context, n *Node, h Heartbeat) error {
	at, err := agent.ParseURL(h.CallbackURL)
	if err != nil {
		return refuse(Invalid, "An issue with the supplied \"callback_url\" has been detected: %v", err)
	}
	if _, err = e.agentAddresses(ctx, at.Hostname(), h.From); err != nil {
		e.config.Log.Warn("the address of an agent is refused", "node", n.UUID, "host", at.Hostname(), "from", h.From, "error", err)
		return refuse(Invalid, "An issue with the supplied \"callback_url\" has been detected: its host is not permitted.")
	}
	return nil
}

// agentAddresses returns the addresses of the host of an agent, whose heartbeat came from source, to which the
// configuration permits requests. None is an error.
func (e *engine) agentAddresses(ctx context.Context, host string, source netip.Addr) (permitted []netip.Addr, err error) {
	all := []netip.Addr{}
	if address, err := netip.ParseAddr(host); err == nil {
		all = append(all, address)
	} else {
		ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
		defer cancel()
		if all, err = e.resolve(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	err = errors.New("the host has no address")
	for i, address := range all {
		refused := e.config.AgentAddress(source, address)
		if refused == nil {
			permitted = append(permitted, address)
		} else if i == 0 {
			err = refused
		}
	}
	if len(permitted) == 0 {
		return nil, err
	}
	return permitted, nil
}

// dialAgent returns a function that connects to an agent whose heartbeat came from source. It dials only addresses that
// are permitted now: the name of the host may have other addresses than at the heartbeat.
func (e *engine) dialAgent(source netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := e.config.Agent.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		permitted, err := e.agentAddresses(ctx, host, source)
		if err != nil {
			return nil, err
		}
		var failures []error
		for _, at := range permitted {
			conn, err := dial(ctx, network, net.JoinHostPort(at.String(), port))
			if err == nil {
				return conn, nil
			}
			failures = append(failures, err)
		}
		return nil, errors.Join(failures...)
	}
}
