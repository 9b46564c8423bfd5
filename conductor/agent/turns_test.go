// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

func TestAnAnswerWaitsForItsTurnUntilItsContextEnds(t *testing.T) {
	const agents = 40 // more than there are turns
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"commands": [], "x": ["`+strings.Repeat("x", 16<<10)+`"`)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, `]}`)
	}))
	defer s.Close()
	budget := agent.NewBudget()
	stopped := errors.New("the work has ended")
	ctx, stop := context.WithCancelCause(t.Context())
	results := make(chan error, agents)
	for range agents {
		c, err := agent.New(agent.Config{URL: s.URL, Budget: budget, Timeout: time.Hour, Attempts: 1})
		require.NoError(t, err)
		go func() {
			_, err := c.Commands(ctx)
			results <- err
		}()
	}
	for budget.Turns() < budget.MaxTurns() {
		time.Sleep(time.Millisecond)
	}
	small := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"commands": []}`)
	}))
	defer small.Close()
	c, err := agent.New(agent.Config{URL: small.URL, Budget: budget})
	require.NoError(t, err)
	_, err = c.Commands(t.Context())
	require.NoError(t, err, "a small answer needs no turn")

	stop(stopped)
	for range agents {
		require.Equal(t, stopped, <-results)
	}
	close(release)
	c, err = agent.New(agent.Config{URL: s.URL, Budget: budget})
	require.NoError(t, err)
	_, err = c.Commands(t.Context())
	require.NoError(t, err, "all turns have ended")
}
