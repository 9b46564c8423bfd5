package etcd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/storetest"
)

const kind conductor.Kind = "nodes"

func open(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTheStoreInAFolderKeepsItsPromises(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	require.NoError(t, storetest.Check(s))
}
