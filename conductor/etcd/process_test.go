// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/internal/needs"
)

func TestMain(m *testing.M) {
	etcdtest.Main(m, map[string]func(arg string) error{"conductor": conductForever, "member": beMember})
}

// connect opens a store on an etcd cluster, which is closed when the test ends.
func connect(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// openLocal opens a store on a server in this process, which ends with the store: at the latest when
// the test ends.
func openLocal(t *testing.T, dir, prefix string) *etcd.Store {
	t.Helper()
	client, stop := startLocal(t, dir)
	s, err := etcd.OpenLocal(t.Context(), etcd.Local{Client: client, Single: true, Prefix: prefix, Stop: stop})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// startLocal starts the only server of a cluster in this process, with its data in the folder and no port
// open. It returns a client that calls the server without a connection, and the function that stops both.
func startLocal(t *testing.T, dir string) (client *clientv3.Client, stop func() error) {
	t.Helper()
	needs.Time(t)
	config := embed.NewConfig()
	config.Name, config.Dir = "local", dir
	self := url.URL{Scheme: "http", Host: "127.0.0.1:2380"} // etcd requires the address, although no server listens at it
	config.InitialCluster, config.AdvertisePeerUrls = "local="+self.String(), []url.URL{self}
	config.ListenPeerUrls, config.ListenClientUrls, config.AdvertiseClientUrls = nil, nil, nil
	config.TickMs, config.ElectionMs = 10, 100
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(config)
	require.NoError(t, err)
	<-server.Server.ReadyNotify()
	client = v3client.New(server.Server)
	return client, func() error {
		err := client.Close()
		if errors.Is(err, context.Canceled) { // always returned by a client without a connection
			err = nil
		}
		server.Close()
		return err
	}
}

// endpoints returns the client URLs of members.
func endpoints(members []*etcdtest.Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Client)
	}
	return all
}
