package etcd_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/storetest"
)

// loopback returns a loopback address with a free port.
func loopback(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func urls(text string) []url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return []url.URL{*u}
}

// member is an etcd server in a separate process.
type member struct {
	serverConfig
	*process
}

// start does not wait until the member is ready: that needs a quorum of started members.
func (m *member) start(t *testing.T) {
	t.Helper()
	m.process = spawn(t, "server", m.serverConfig)
}

func (m *member) ready(t *testing.T) {
	t.Helper()
	require.Equal(t, "ready", m.line(t))
}

// startCluster starts n servers. It calls set, if not nil, with the configuration of each.
func startCluster(t *testing.T, n int, set func(*serverConfig)) []*member {
	t.Helper()
	members := make([]*member, n)
	var names []string
	for i := range members {
		c := serverConfig{
			Name:   fmt.Sprintf("etcd-%d", i),
			Dir:    t.TempDir(),
			Peer:   "http://" + loopback(t),
			Client: "http://" + loopback(t),
		}
		if set != nil {
			set(&c)
		}
		members[i] = &member{serverConfig: c}
		names = append(names, c.Name+"="+c.Peer)
	}
	for _, m := range members {
		m.Cluster = strings.Join(names, ",")
		m.start(t)
	}
	for _, m := range members {
		m.ready(t)
	}
	return members
}

func endpoints(members []*member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Client)
	}
	return all
}

func TestTheStoreOnAClusterKeepsItsPromises(t *testing.T) {
	members := startCluster(t, 3, nil)
	handles := []conductor.Store{open(t, etcd.Config{Endpoints: endpoints(members)})}
	for _, m := range members {
		handles = append(handles, open(t, etcd.Config{Endpoints: []string{m.Client}}))
	}
	require.NoError(t, storetest.Check(handles[0], handles[1:]...))
}
