// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/conductortest"
)

func TestAnEventTellsWhyChangesAreRefused(t *testing.T) {
	s := start(t, conductortest.Config{})
	events := s.stream()
	require.Empty(t, events.next().Trouble)
	for _, trouble := range []string{"disk full", "no majority", ""} {
		s.trouble.Store(trouble)
		require.Equal(t, trouble, events.next().Trouble)
	}
}

func TestThePageSaysWhyChangesAreRefused(t *testing.T) {
	s := start(t, conductortest.Config{})
	b := open(t, s, "")
	hidden := func() {
		t.Helper()
		b.until("no trouble is shown", `getComputedStyle(document.getElementById('trouble')).display === 'none'`)
	}
	hidden()
	s.trouble.Store("no majority")
	b.Do(chromedp.WaitVisible(chromedp.CSS("#trouble")))
	b.untilText("#trouble", "Changes are refused: no majority. What this page shows may be out of date.")
	s.trouble.Store("disk full")
	b.until("the text has changed", `document.getElementById('trouble').textContent === 'Changes are refused: disk full.'`)
	s.trouble.Store("")
	hidden()
}
