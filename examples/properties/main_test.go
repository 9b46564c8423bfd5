package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		m.Run()
	}
}

func TestTheREADMEShowsTheOutput(t *testing.T) {
	out, err := programtest.Command().Output() // a separate process does not have the flags of go test
	require.NoError(t, err)
	programtest.CheckREADME(t, string(out))
}

// A report has the walk in one line, and the last event is the one that shows the bug.
func TestRapidFindsTheBugWhateverTheSeedAndShrinksIt(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		r := checkProperty(seed, restartsChangeNothing(endsAtFirst))
		require.True(t, r.failed)
		require.Regexp(t, `draw walk: \[\]states.Transition\{("[^"]+", ){3,4}"clean wait --resume--> cleaning"\}$`, r.lines[len(r.lines)-2])
		require.Regexp(t, `^resume leads to \w+, and after a restart to cleaning$`, r.lines[len(r.lines)-1])
	}
}

func TestAMachineThatIsRightIsNotReported(t *testing.T) {
	var out bytes.Buffer
	require.True(t, check(&out, 0, ends))
	require.Contains(t, out.String(), "[rapid] OK, passed 10000 tests")
}

func TestWrongUsageIsReported(t *testing.T) {
	err := run(t.Context(), []string{"-seed", "one"}, io.Discard, io.Discard)
	require.ErrorIs(t, err, program.ErrUsage)
	require.EqualError(t, err, `invalid value "one" for flag -seed: parse error`)
}
