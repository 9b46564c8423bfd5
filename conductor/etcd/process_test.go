// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
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
	client, stop := etcdtest.StartLocal(t, dir)
	s, err := etcd.OpenLocal(t.Context(), etcd.Local{Client: client, Single: true, Prefix: prefix, Stop: stop})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
