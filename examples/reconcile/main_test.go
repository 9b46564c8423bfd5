// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

func TestAnIronicWithoutEnrollIsWarnedOf(t *testing.T) {
	for series, want := range map[states.Series]string{
		states.Kilo: "warning: the server's API 1.6 is older than 1.11: it creates nodes available for use at once, " +
			"not in enroll, and does not verify their credentials\n",
		states.Liberty:  "",
		states.Latest(): "",
	} {
		var logged bytes.Buffer
		log.SetOutput(&logged)
		log.SetFlags(0)
		t.Cleanup(func() { log.SetOutput(os.Stderr) })
		_, version, err := dial(t.Context(), conductortest.New(t, conductortest.Config{Series: series}).URL)
		require.NoError(t, err)
		require.Equal(t, series.MaxAPIVersion(), version)
		require.Equal(t, want, logged.String())
	}
}
