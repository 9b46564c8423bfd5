package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/verify/bmc"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		goleak.VerifyTestMain(m)
	}
}

func TestTheProgramEndsWellWhateverEndsIt(t *testing.T) {
	programtest.CheckEnds(t, "-nodes", "20", "-rounds", "1000000")
}

func TestAFleetIsSyncedAndRepaired(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out, errOut bytes.Buffer
		err := run(t.Context(), []string{"-nodes", "20", "-workers", "20", "-rounds", "4", "-metrics", "127.0.0.1:0"}, &out, &errOut, terminal)
		require.NoError(t, err, "%s%s", &out, &errOut)
		require.Empty(t, errOut.String())
		require.Contains(t, out.String(), "20 machines: 13 healthy, 1 in enroll, 1 lying, 1 hanging, 1 dead, 3 switched behind our back\n")
		require.Contains(t, out.String(), "3 into_maintenance")
		require.Contains(t, out.String(), "[repaired] recovery round: 3 nodes in ")
		require.Regexp(t, `\[last\] sync round: 20 nodes in .*: 1 skipped_enroll, \d+ equal(, \d+ forced)?\n`, out.String())
		require.Equal(t, terminal, strings.Contains(out.String(), eraseLine))
		if !terminal {
			programtest.CheckREADME(t, out.String())
		}
	}
}

func TestAWrongPowerStateIsAFailure(t *testing.T) {
	f, err := openFleet(4)
	require.NoError(t, err)
	defer f.close()
	require.NoError(t, f.check())
	require.NoError(t, f.machines[1].bmc.SetPower(systemID, "Off"))
	require.ErrorContains(t, f.check(), "node-001 is Off")

	resp, err := f.machines[3].bmc.Client().Get(f.machines[3].bmc.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.ErrorContains(t, f.check(), "node-003 is in enroll and was asked")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, []string{"-nodes", "1"}, io.Discard, io.Discard, false), context.Canceled)
}

func TestWrongUsageIsReported(t *testing.T) {
	for args, want := range map[string]string{
		"-nodes 0":    "-nodes is 0: want 1 to 2000",
		"-nodes 2001": "-nodes is 2001: want 1 to 2000",
		"-workers 0":  "-workers is 0: want 1 to 2000",
		"-rounds -1":  "-rounds is -1: want 1 to 1000000",
		"now":         `unexpected argument "now": want flags alone, see -h`,
		"-nodes x":    `invalid value "x" for flag -nodes: parse error`,
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard, false)
		require.ErrorIs(t, err, program.ErrUsage)
		require.EqualError(t, err, want)
	}
	err := run(t.Context(), []string{"-nodes", "1", "-metrics", "a:b:c"}, io.Discard, io.Discard, false)
	require.ErrorContains(t, err, "a:b:c")
	require.NotErrorIs(t, err, program.ErrUsage)
}

func TestCountersAreServed(t *testing.T) {
	syncer, err := powersync.New(powersync.Config{Store: new(powersync.Memory), Driver: new(bmc.Driver)})
	require.NoError(t, err)
	_, err = syncer.Sync(t.Context())
	require.NoError(t, err)
	handler := metricsHandler(syncer)
	get := func(path string) string {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, answer.Code)
		return answer.Body.String()
	}
	text := get("/metrics")
	require.Equal(t, 1, strings.Count(text, "# TYPE powersync_nodes_total counter\n"))
	require.Contains(t, text, "powersync_nodes_total{outcome=\"skipped_enroll\"} 0\n")
	require.Contains(t, text, "# TYPE powersync_failing_nodes gauge\npowersync_failing_nodes 0\n")
	require.Contains(t, text, "\npowersync_rounds_total 1\n")
	require.Contains(t, get("/debug/vars"), `"rounds":1`)
}
