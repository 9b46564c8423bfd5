// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
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
	"github.com/ironstate/ironstate/states"
)

func TestTheTablesAreIronics(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	c, err := compareTables(t.Context())
	requireSame(t, c, err)
	c, err = compareSteps(t.Context())
	requireSame(t, c, err)
}

func TestFakeHardware(t *testing.T) {
	t.Parallel()
	i := start(t, Options{})
	for _, compare := range compareFake {
		began := time.Now()
		c, err := compare(t.Context(), i)
		requireSame(t, c, err)
		t.Logf("in %v", time.Since(began))
	}
}

func TestBMCs(t *testing.T) {
	t.Parallel()
	i := start(t, Options{IPMI: true})
	for _, compare := range compareIPMI {
		began := time.Now()
		c, err := compare(t.Context(), i)
		requireSame(t, c, err)
		t.Logf("in %v", time.Since(began))
	}
}

// testSteps is the number of requests of TestLives. They take about a minute; the command lockstep
// makes walkSteps.
const testSteps = 500

// TestLives runs random lives until they have made testSteps requests. With -rapid.checks it
// runs fewer.
func TestLives(t *testing.T) {
	t.Parallel()
	i, s := start(t, Options{}), serve(t)
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	enough := testSteps
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
func liveAtRandom(rt *rapid.T, t *testing.T, i *Ironic, s *service) (requests int) {
	choose := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) }
	l, err := i.beginLife(t.Context(), s, pick(choose, "from", beginnings))
	require.NoError(rt, err)
	rt.Repeat(map[string]func(*rapid.T){
		"step": func(*rapid.T) {
			next := chooseStep(l.machine.Node(), choose)
			if next.kind == requestStep {
				requests++
			}
			found, err := l.take(t.Context(), next)
			require.NoError(rt, err)
			require.Nil(rt, found)
		},
	})
	require.Nil(rt, l.explain())
	return requests
}

func TestADifferentMachineIsFound(t *testing.T) {
	i := start(t, Options{})
	l, err := i.beginLife(t.Context(), serve(t), states.Enroll)
	require.NoError(t, err)
	_, err = i.database.write(l.uuid, columns{"provision_state": states.Active})
	require.NoError(t, err)
	found, err := l.request(t.Context(), "nonsense", newest, Done)
	require.NoError(t, err)
	require.Equal(t, &Difference{
		What:      `"nonsense" in enroll at 1.82, work ends with done`,
		Ironic:    "in active, target none, without last error",
		Ironstate: "in enroll, target none, without last error",
	}, found)
	found, err = l.request(t.Context(), "manage", newest, Done)
	require.NoError(t, err)
	require.Equal(t, "400 "+states.ErrNotAllowed.Error(), found.Ironic)
	require.Equal(t, "202", found.Ironstate)

	l.seen = append(l.seen, inState(states.Active), inState(states.Enroll))
	require.NotNil(t, l.explain(), "nothing leads back to enroll")
}

func TestTheSameSeedIsTheSameWalk(t *testing.T) {
	i, s := start(t, Options{}), serve(t)
	var walks [2][]int
	for n := range walks {
		random := rand.New(rand.NewPCG(1, 2))
		found, steps, err := i.walk(t.Context(), s, func(_ string, most int) int {
			walks[n] = append(walks[n], random.IntN(most))
			return walks[n][len(walks[n])-1]
		})
		require.NoError(t, err)
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
	for _, p := range OnPurpose {
		if p.Comparison == powerName {
			power.Differences = append(power.Differences, p.Difference)
			onPurpose++
		}
	}
	require.NoError(t, Report(&text, "1.2.3", 4, []Comparison{same, power}))
	for _, want := range []string{
		"Ironic 1.2.3 (series 2023.1)", "| the same | 3 | 0 | 0 |\n", fmt.Sprintf("| 9 | 1 | %d |\n", onPurpose),
		"seed 4.", "On purpose: active", "Difference: something: ironic: one; ironstate: another.",
	} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "Out of date")
	require.NoError(t, Report(&text, "1.2.3", 4, []Comparison{{Name: powerName, Compared: 1}}))
	require.Contains(t, text.String(), "Out of date: active")
}
