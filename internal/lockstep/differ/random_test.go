package differ

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/lockstep"
	"github.com/ironstate/ironstate/internal/needs"
)

// maxListed bounds the intended differences, in percent of the answers.
const maxListed = 1

// The requests are the same in each run; how many there is time for depends on the machine.
func TestRandomRequestsGetTheAnswersOfIronic(t *testing.T) {
	run := Run{Seed: seed, Round: 1, Time: 50 * time.Second, Workers: 2, Examples: 1}
	result, err := run.Do(t.Context())
	needs.Installed(t, !errors.Is(err, lockstep.ErrNotInstalled), "Ironic")
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, result.Write(&text))
	t.Log(text.String())
	require.Empty(t, result.Unexpected())
	require.Positive(t, result.Requests)
	if result.Requests > 1000 { // fewer are too few for a share
		require.LessOrEqual(t, percent(result.Listed, result.Requests), float64(maxListed), "percent of intended differences")
	}
}
