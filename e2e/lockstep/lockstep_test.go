// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/internal/needs"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/states"
)

func TestTheTablesAreIronics(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	found, err := Find(t.Context(), "")
	installed(t, err)
	requireAllSame(t, &Ironic{Installation: found}, compareTables, compareSteps)
}

func TestEveryRequestInEveryState(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	requireAllSame(t, start(t, Options{}), compareEvery...)
}

func TestFakeHardware(t *testing.T) {
	t.Parallel()
	requireAllSame(t, start(t, Options{}), compareFake...)
}

func TestBMCs(t *testing.T) {
	t.Parallel()
	requireAllSame(t, start(t, Options{IPMI: true}), compareIPMI...)
}

// liveSteps is the number of requests of TestLives, which take about a minute. The command lockstep makes walkSteps.
const liveSteps = 500

// TestLives runs random lives until they have made these requests. With -rapid.checks it
// runs fewer.
func TestLives(t *testing.T) {
	t.Parallel()
	i, s := start(t, Options{}), serve(t, states.Antelope)
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	enough := liveSteps
	if checks.Value.String() != checks.DefValue {
		enough = 1
	} else {
		require.NoError(t, checks.Value.Set("20"))
	}
	next, err := strconv.ParseUint(seed.Value.String(), 10, 64)
	require.NoError(t, err)
	if next == 0 {
		next = uint64(time.Now().UnixNano())
	}
	for requests := 0; requests < enough; next++ {
		t.Logf("after %d requests: -rapid.seed=%d", requests, next)
		require.NoError(t, seed.Value.Set(strconv.FormatUint(next, 10)))
		rapid.Check(t, func(rt *rapid.T) { requests += liveAtRandom(rt, t, i, s) })
	}
}

// liveAtRandom runs one random life and returns the number of its requests.
func liveAtRandom(rt *rapid.T, t *testing.T, i *Ironic, s *scripted) (requests int) {
	choose := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) }
	l := i.beginLife(t.Context(), s, pick(choose, "from", i.beginnings()))
	rt.Repeat(map[string]func(*rapid.T){
		"step": func(*rapid.T) {
			next := i.chooseStep(l.machine.Node(), choose)
			if next.kind == requestStep {
				requests++
			}
			require.Nil(rt, l.take(t.Context(), next))
		},
	})
	require.Nil(rt, l.explain())
	return requests
}

func TestADifferentMachineIsFound(t *testing.T) {
	i := start(t, Options{})
	l := i.beginLife(t.Context(), serve(t, states.Antelope), states.Enroll)
	i.database.write(l.uuid, columns{"provision_state": states.Active})
	found := l.request(t.Context(), "nonsense", i.newest(), Done)
	require.Equal(t, &Difference{
		What:      `"nonsense" in enroll at 1.82, work ends with done`,
		Ironic:    "in active, target none, without last error",
		Ironstate: "in enroll, target none, without last error",
	}, found)
	found = l.request(t.Context(), "manage", i.newest(), Done)
	require.Equal(t, "400 "+states.ErrNotAllowed.Error(), found.Ironic)
	require.Equal(t, "202", found.Ironstate)

	l.seen = append(l.seen, i.inState(states.Active), i.inState(states.Enroll))
	require.NotNil(t, l.explain(), "nothing leads back to enroll")
}

func TestTheSameSeedIsTheSameWalk(t *testing.T) {
	i, s := start(t, Options{}), serve(t, states.Antelope)
	var walks [2][]int
	for n := range walks {
		random := rand.New(rand.NewPCG(1, 2))
		found, steps := i.walk(t.Context(), s, func(_ string, most int) int {
			walks[n] = append(walks[n], random.IntN(most))
			return walks[n][len(walks[n])-1]
		})
		require.Nil(t, found)
		require.Equal(t, lifeSteps, steps)
	}
	require.Equal(t, walks[0], walks[1])
}

func TestReport(t *testing.T) {
	var text strings.Builder
	same := Comparison{Name: "the same", Compared: 3}
	power := Comparison{Name: powerName, Compared: 9, Differences: []Difference{{"something", "one", "another"}}}
	onPurpose := 0
	for p := range purposesOf(states.Antelope) {
		if p.Comparison == powerName {
			power.Differences = append(power.Differences, p.Difference)
			onPurpose++
		}
	}
	run := Run{Ironic: Installation{Version: "1.2.3", Series: states.Antelope}, Seed: 4, OneIn: 1}
	require.NoError(t, run.Report(&text, []Comparison{same, power}))
	for _, want := range []string{
		"Ironic 1.2.3 (series 2023.1)", "| the same | 3 | 0 | 0 |\n", fmt.Sprintf("| 9 | 1 | %d |\n", onPurpose),
		"seed 4.", "On purpose: active", "Difference: something: ironic: one; ironstate: another.",
	} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "Out of date")
	require.NotContains(t, text.String(), "one of")
	run.OneIn, run.Ironic.Newer = 20, true
	require.NoError(t, run.Report(&text, []Comparison{{Name: powerName, Compared: 1, Failed: errors.New("no BMC")}}))
	for _, want := range []string{
		"Out of date: active", "Not compared to its end: " + powerName + ": no BMC.", "one of 20 inputs",
		"1.2.3 is newer than the newest known series",
	} {
		require.Contains(t, text.String(), want)
	}
}
