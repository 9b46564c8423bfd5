// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/internal/exchanges"
	"github.com/ironstate/ironstate/states"
)

// TestTheExchangesOfIronic39 plays exchanges that were recorded from Ironic 39.0.0 of 2026.2 with fake-hardware. The
// test of package e2e/lockstep/differ records them.
func TestTheExchangesOfIronic39(t *testing.T) {
	s := start(t, states.Hibiscus, api.Config{})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	recorded, err := os.ReadFile("testdata/later.txt")
	require.NoError(t, err)
	played, err := exchanges.Play(web.URL, string(recorded), map[string]string{"CONDUCTOR": s.conductor.Name()})
	require.NoError(t, err)
	require.Equal(t, string(recorded), played)
}
