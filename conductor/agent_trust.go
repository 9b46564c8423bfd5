// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/namedfile"
	"github.com/ironstate/ironstate/conductor/internal/special"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/internal/sleep"
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
		return refuse(Invalid, "An issue with the supplied \"callback_url\" has been detected: %w", err)
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

// agentCA returns how the certificate of a node's agent is verified: by the certificates in a PEM text, by the
// authorities of the operating system if the text is empty, or not at all if unverified is set. The certificate of the
// agent's heartbeats comes first, then agent_verify_ca of driver_info, then the configuration. The last two are
// booleans or the path of a file, which read reads.
//
// Source: _get_verify in ironic/drivers/modules/agent_client.py.
func agentCA(n *Node, configured string, read func(path string) ([]byte, error)) (pem string, unverified bool, err error) {
	if n.Agent.VerifyCA != "" {
		return n.Agent.VerifyCA, false, nil
	}
	value := n.DriverInfo["agent_verify_ca"]
	if value == nil {
		value = cmp.Or(configured, "true")
	}
	text := fmt.Sprint(value)
	if verify, ok := oslobool.Parse(text); ok {
		return "", !verify, nil
	}
	content, err := read(text)
	if err != nil || len(content) == 0 {
		return "", false, refuse(Invalid, "Agent CA %s is neither a path nor a boolean", text)
	}
	return string(content), false, nil
}

// verifiesAgents reports whether certificates of agents can be verified, or need not be, by a [Config.AgentVerifyCA].
func verifiesAgents(configured string) bool {
	pem, _, err := agentCA(&Node{}, configured, readCA)
	return err == nil && (pem == "" || x509.NewCertPool().AppendCertsFromPEM([]byte(pem)))
}

// maxCA bounds a file with certificates in bytes.
const maxCA = 1 << 20

// readCA reads a file with certificates.
func readCA(path string) ([]byte, error) { return namedfile.Read(path, maxCA) }

// tokenBytes is the length of a token before its encoding, which has 43 characters. An agent ignores
// a token with fewer than 32.
const tokenBytes = 32

// newAgentToken makes a token that an agent sends in its heartbeats.
//
// Source: add_secret_token in ironic/conductor/utils.py.
func newAgentToken() string {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // it never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

// PregenerateAgentToken makes and stores the token of the agent that the machine boots next. The caller must
// put it into the ramdisk's configuration, since [Conductor.Lookup] does not return it. The record keeps
// it when the machine is powered off or rebooted, until the work has ended. The record forgets the agent of an earlier
// boot, which has another URL and certificate.
//
// Source: prepare_ramdisk in ironic/drivers/modules/redfish/boot.py.
func (t *Task) PregenerateAgentToken(ctx context.Context) (string, error) {
	token := newAgentToken()
	return token, t.Update(ctx, func(n *Node) error {
		n.forgetBootedAgent()
		n.Agent.Token, n.Agent.TokenPregenerated = token, true
		return nil
	})
}

// ForgetAgent removes the data of the node's agent, its token included. The next agent then receives a
// token at its lookup.
func (t *Task) ForgetAgent(ctx context.Context) error {
	if t.Node().Agent.Token == "" {
		return nil
	}
	return t.Update(ctx, func(n *Node) error { n.forgetAgent(); return nil })
}

// Lookup returns the node of an agent that has just started, by the node's UUID or by the
// MAC addresses of the machine, and the token that the agent must send in its heartbeats.
// The address from which the request came is stored with the token. The token is empty if one was
// given out or made before: that is logged with both addresses, unless it is the first lookup
// of the agent that was booted with its token. The error matches [NotFound] if no
// node has the addresses, if several nodes have them, or if the node is in a state that
// does not allow a lookup, and [Invalid] for more than 128 addresses.
//
// Source: ironic/api/controllers/v1/ramdisk.py and get_node_with_token in
// ironic/conductor/manager.py.
func (c *Conductor) Lookup(ctx context.Context, from netip.Addr, addresses []string, uuid string) (n *Node, token string, err error) {
	if uuid == "" {
		if uuid, err = c.fleet.byAddress(ctx, addresses); err != nil {
			return nil, "", err
		}
	}
	fresh := newAgentToken()
	var before AgentInfo
	_, _, err = c.fleet.edit(ctx, uuid, func(found *Node) error {
		if !c.rules.lookupAllowed(found).Has(found.ProvisionState) {
			return refuse(NotFound, "Node %s could not be found.", uuid)
		}
		n, before, token = found, found.Agent, ""
		switch {
		case before.Token == "":
			token = fresh
			n.Agent.Token, n.Agent.From = fresh, from
		case !before.From.IsValid() && from.IsValid():
			n.Agent.From = from
		default:
			return errNothingToDo
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNothingToDo) {
		if n = c.givenToken(ctx, n, fresh); n == nil {
			return nil, "", err
		}
	}
	if before.refuses(from) {
		c.config.Log.Warn("a lookup gets no token, since the node's agent has one", "node", n.UUID, "from", from, "agent", before.From)
	}
	return n, token, nil
}

// givenToken returns the stored node of a lookup that has failed if it has the fresh token, otherwise nil. The response
// of the store was lost then, and the agent would get no token at its next lookup. A store that does not answer, as
// one without a leader, is asked again for a time.
func (c *Conductor) givenToken(ctx context.Context, n *Node, fresh string) *Node {
	if n == nil || n.Agent.Token != fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	stored, _ := sleep.Until(ctx, reportBackoff, func() (*Node, bool, error) {
		stored, err := c.fleet.storedNode(ctx, n.UUID)
		return stored, err == nil || errors.Is(err, NotFound), nil
	})
	if stored == nil || stored.Agent.Token != fresh {
		return nil
	}
	return stored
}

// refuses reports whether a lookup from an address comes from another agent than the one with the token, or from an
// agent that has lost it. An agent that was booted with its token looks the node up as well, and needs no other.
func (a AgentInfo) refuses(from netip.Addr) bool {
	return a.Token != "" && (!a.TokenPregenerated || a.From.IsValid() && a.From != from)
}

// maxInterfaces bounds the network interfaces of a machine: the addresses of a lookup, and the ports of an inspection.
const maxInterfaces = 128

// byAddress returns the UUID of the node that has ports with the addresses. An agent with interfaces of VLANs sends an
// address once for each of them.
func (f *fleet) byAddress(ctx context.Context, addresses []string) (string, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(addresses)))
	if len(distinct) > maxInterfaces {
		return "", refuse(Invalid, "A machine has at most %d network interfaces, and these are the addresses of %d.",
			maxInterfaces, len(distinct))
	}
	found := ""
	for _, address := range distinct {
		for _, key := range addressKeys(address) {
			r, err := f.store.Get(ctx, KindPort, key)
			if errors.Is(err, NotFound) {
				continue
			}
			if err != nil {
				return "", fmt.Errorf("load the port with the %s: %w", key, err)
			}
			o, err := decodeObject(r)
			if err != nil {
				return "", err
			}
			node := o.Meta().NodeUUID
			if found != "" && found != node {
				return "", refuse(NotFound, "No node with the addresses %v: they belong to several nodes.", addresses)
			}
			found = node
		}
	}
	if found == "" {
		return "", refuse(NotFound, "No node with the addresses %v could be found.", addresses)
	}
	return found, nil
}

var errAgentToken = refuse(Invalid, "Invalid or missing agent token received.")

// has reports whether the agent has the token.
func (a AgentInfo) has(token string) bool {
	return a.Token != "" && subtle.ConstantTimeCompare([]byte(a.Token), []byte(token)) == 1
}
