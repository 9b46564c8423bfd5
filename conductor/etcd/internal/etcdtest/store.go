// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

// Kind is the kind of the records that Create stores.
const Kind conductor.Kind = "nodes"

// Create stores a record and returns it with its revision.
func Create(t *testing.T, s conductor.Store, id string, keys ...string) conductor.Record {
	t.Helper()
	r := conductor.Record{Kind: Kind, ID: id, Keys: keys, Value: []byte("{}")}
	revision, err := s.Create(t.Context(), r)
	require.NoError(t, err)
	r.Revision = revision
	return r
}
