// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/needs"
)

// maxListed bounds the intended differences, in percent of the answers.
const maxListed = 1

// The requests are the same in each run. They take about a minute on two idle cores.
func TestRandomRequestsGetTheAnswersOfIronic(t *testing.T) {
	needs.Time(t)
	run := Run{Seed: seed, Round: 1, Requests: 2000, Workers: 2, Examples: 1}
	result, err := run.Do(t.Context())
	needs.Installed(t, !errors.Is(err, lockstep.ErrNotInstalled), "Ironic")
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, result.Write(&text))
	t.Log(text.String())
	require.Empty(t, result.Unexpected())
	require.GreaterOrEqual(t, result.Requests, run.Requests)
	require.LessOrEqual(t, percent(result.Listed, result.Requests), float64(maxListed), "percent of intended differences")
}
