// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
)

func TestTheDatabaseIsAStore(t *testing.T) {
	dir, n := t.TempDir(), 0
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		n++
		s, err := Open(filepath.Join(dir, fmt.Sprintf("a fleet?50%%#%d.db", n)))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		for _, r := range records {
			require.NoError(t, s.Add(t.Context(), r))
		}
		return s, nil
	}))
}
