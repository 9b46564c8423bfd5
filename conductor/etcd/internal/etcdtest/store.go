// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
)

// Kind is the kind of the records that Create stores.
const Kind conductor.Kind = "nodes"

// Connect opens a store on an etcd cluster, which is closed when the test ends.
func Connect(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	return closed(t)(etcd.Open(t.Context(), c))
}

// OpenFolder opens a store on an embedded server, which is closed when the test ends.
func OpenFolder(t *testing.T, c embedded.Config) *etcd.Store {
	t.Helper()
	return closed(t)(embedded.Open(t.Context(), c))
}

func closed(t *testing.T) func(*etcd.Store, error) *etcd.Store {
	return func(s *etcd.Store, err error) *etcd.Store {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
}

// Create stores a record and returns it with its revision.
func Create(t *testing.T, s conductor.Store, id string, keys ...string) conductor.Record {
	t.Helper()
	r := conductor.Record{Kind: Kind, ID: id, Keys: keys, Value: []byte("{}")}
	revision, err := s.Create(t.Context(), r)
	require.NoError(t, err)
	r.Revision = revision
	return r
}
