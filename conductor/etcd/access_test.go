// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/verify/secret"
)

const (
	user     = "ironstate"
	password = "correct+horse/1"
	wrong    = "wrong+horse/&"
)

// rawClient returns an etcd client of the cluster, for the set-up of tests.
func rawClient(t *testing.T, members []*etcdtest.Member) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints(members)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// requireLogin enables authentication in the cluster and gives user access to the prefix.
func requireLogin(t *testing.T, members []*etcdtest.Member) {
	t.Helper()
	client := rawClient(t, members)
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		require.NoError(t, err)
	}
	must(client.UserAdd(ctx, "root", password))
	must(client.UserGrantRole(ctx, "root", "root"))
	must(client.UserAdd(ctx, user, password))
	must(client.RoleAdd(ctx, user))
	prefix := "/ironstate/v1/"
	must(client.RoleGrantPermission(ctx, user, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(client.UserGrantRole(ctx, user, user))
	must(client.AuthEnable(ctx))
}

// requests returns the number of requests with a method that the server has received.
func requests(t *testing.T, m *etcdtest.Member, method string) int {
	t.Helper()
	answer, err := http.Get(m.Client + "/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	metrics, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	http.DefaultClient.CloseIdleConnections()
	found := regexp.MustCompile(`grpc_server_started_total\{grpc_method="` + method + `".*\} (\d+)`).FindSubmatch(metrics)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return n
}

func TestAClusterWithPasswordAuthentication(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	requireLogin(t, members)
	before := requests(t, members[0], "Authenticate")

	config := etcd.Config{Endpoints: endpoints(members), User: user, Password: secret.New(wrong)}
	_, err := etcd.Open(t.Context(), config)
	require.ErrorContains(t, err, "authentication failed")
	require.NotContains(t, err.Error(), wrong)
	require.Zero(t, before)
	require.Equal(t, 1, requests(t, members[0], "Authenticate"), "a wrong password costs one attempt")

	config.User = ""
	_, err = etcd.Open(t.Context(), config)
	require.ErrorContains(t, err, "user")

	config.User, config.Password = user, secret.New(password)
	s := connect(t, config)
	a := etcdtest.Create(t, s, "a", "name=a")
	got, err := s.Get(t.Context(), etcdtest.Kind, "name=a")
	require.NoError(t, err)
	require.Equal(t, a, got)
	next, stop := pull(s.Watch(t.Context(), etcdtest.Kind))
	defer stop()
	require.Equal(t, a, next(t).Record)

	config.Prefix = "/elsewhere"
	_, err = etcd.Open(t.Context(), config)
	require.ErrorContains(t, err, "permission denied")
}

func TestAClusterWithClientCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, serverCert, clientCert := etcdtest.Certificates(t, dir)
	members := etcdtest.StartCluster(t, 1, func(c *etcdtest.ServerConfig) {
		c.Client = "https" + c.Client[len("http"):]
		c.CA, c.Cert, c.Key = filepath.Join(dir, "ca.pem"), serverCert, filepath.Join(dir, "server.key")
	})
	config := etcd.Config{Endpoints: endpoints(members), TLS: &tls.Config{RootCAs: ca, Certificates: []tls.Certificate{clientCert}}}
	etcdtest.Create(t, connect(t, config), "a")

	for name, c := range map[string]struct {
		tls  *tls.Config
		says string
	}{
		"a CA that the client does not know": {nil, "certificate signed by unknown authority"},
		"no certificate":                     {&tls.Config{RootCAs: ca}, "latest balancer error"},
	} {
		t.Run(name, func(t *testing.T) {
			refused := config
			refused.TLS = c.tls
			_ = openFails(t, refused, c.says)
		})
	}

	config.Endpoints = []string{"http" + members[0].Client[len("https"):]}
	_, err := etcd.Open(t.Context(), config)
	require.ErrorContains(t, err, "want https, since TLS is set")
}

func TestAnUnreachableClusterIsAnError(t *testing.T) {
	const address = "127.0.0.1:1" // nothing listens there
	synctest.Test(t, func(t *testing.T) {
		var warnings atomic.Int32
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := etcd.Open(ctx, etcd.Config{
			Endpoints: []string{"http://" + address}, Log: slog.New(counted{slog.DiscardHandler, &warnings}),
		})
		require.ErrorContains(t, err, address)
		require.ErrorContains(t, err, "connection refused")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, warnings.Load(), "the error says it")
	})
}

// openFails requires that a store cannot be opened, with an error that says why. Each attempt has twice the time of the
// one before, since a slow machine may not get as far as the reason.
func openFails(t *testing.T, config etcd.Config, says string) error {
	t.Helper()
	for limit := time.Second; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := etcd.Open(ctx, config)
		cancel()
		if limit > time.Minute || err == nil || strings.Contains(err.Error(), says) {
			require.ErrorContains(t, err, says)
			return err
		}
	}
}

// counted is a log handler that counts the warnings and errors.
type counted struct {
	slog.Handler
	count *atomic.Int32
}

func (counted) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (c counted) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c counted) Handle(context.Context, slog.Record) error {
	c.count.Add(1)
	return nil
}

func TestKeysAreAsTheDocumentationSays(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	s := connect(t, etcd.Config{Endpoints: endpoints(members)})
	r := etcdtest.Create(t, s, "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", "name=<rack1-7>")
	client := rawClient(t, members)

	stored, err := client.Get(t.Context(), "/ironstate/", clientv3.WithPrefix())
	require.NoError(t, err)
	keys := make(map[string]string)
	for _, kv := range stored.Kvs {
		keys[string(kv.Key)] = string(kv.Value)
		require.Equal(t, r.Revision, kv.ModRevision)
	}
	require.Equal(t, map[string]string{
		"/ironstate/v1/records/nodes/1be26c0b-03f2-4d2e-ae87-c02d7f33c123": "{\"format\":1,\"keys\":[\"name=<rack1-7>\"]}\n{}",
		"/ironstate/v1/keys/nodes/name=<rack1-7>":                          "1be26c0b-03f2-4d2e-ae87-c02d7f33c123",
	}, keys)

	checkTooLarge(t, s, 1800<<10) // refused by the server
	checkTooLarge(t, s, 5<<20)    // refused by the client
}

func TestAValueOfAnotherFormatIsAnError(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	s := connect(t, etcd.Config{Endpoints: endpoints(members)})
	etcdtest.Create(t, s, "a")
	client := rawClient(t, members)
	ended := make(chan error)
	go func() {
		var last error
		for change, err := range s.Watch(t.Context(), etcdtest.Kind) {
			if last = err; change.Synced {
				ended <- nil
			}
		}
		ended <- last
	}()
	require.NoError(t, <-ended)
	for value, says := range map[string]string{
		"{\"format\":2}\n{}": "its format is 2, the highest known is 1",
		"{}":                 "its format is 0",
		"":                   "no header that this release knows",
	} {
		_, err := client.Put(t.Context(), "/ironstate/v1/records/nodes/b", value)
		require.NoError(t, err)
		_, err = s.Get(t.Context(), etcdtest.Kind, "b")
		require.ErrorContains(t, err, says)
		_, err = s.List(t.Context(), etcdtest.Kind, "", 10)
		require.ErrorContains(t, err, "/ironstate/v1/records/nodes/b")
		var last error
		for _, last = range s.Watch(t.Context(), etcdtest.Kind) {
		}
		require.ErrorContains(t, last, says)
	}
	require.ErrorContains(t, <-ended, "no header that this release knows", "a watch that was there ends")
}

var _ conductor.Store = (*etcd.Store)(nil)
