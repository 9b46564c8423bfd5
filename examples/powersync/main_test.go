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

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/verify/bmc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAHallIsBroughtInOrder(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), []string{"-nodes", "20", "-workers", "20", "-rounds", "4", "-metrics", "127.0.0.1:0"}, &out, &errOut, terminal)
		require.Equal(t, exitGood, code, "%s%s", &out, &errOut)
		require.Empty(t, errOut.String())
		require.Contains(t, out.String(), "20 machines: 13 healthy, 1 in enroll, 1 lying, 1 hanging, 1 dead, 3 switched behind our back\n")
		require.Contains(t, out.String(), "3 into_maintenance")
		require.Contains(t, out.String(), "[repaired] recovery round: 3 nodes in ")
		require.Regexp(t, `\[last\] sync round: 20 nodes in .*: 1 skipped_enroll, \d+ equal(, \d+ forced)?\n`, out.String())
		require.Equal(t, terminal, strings.Contains(out.String(), eraseLine))
	}
}

func TestAHallThatIsNotInOrderIsAFailure(t *testing.T) {
	h, err := openHall(4)
	require.NoError(t, err)
	defer h.close()
	require.NoError(t, h.check())
	require.NoError(t, h.machines[1].bmc.SetPower(systemID, "Off"))
	require.ErrorContains(t, h.check(), "node-001 is Off")

	resp, err := h.machines[3].bmc.Client().Get(h.machines[3].bmc.URL())
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.ErrorContains(t, h.check(), "node-003 is in enroll and was asked")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errOut bytes.Buffer
	require.Equal(t, exitFailed, run(ctx, []string{"-nodes", "1"}, io.Discard, &errOut, false))
	require.Equal(t, "powersync: context canceled\n", errOut.String())
}

func TestWrongUseIsTold(t *testing.T) {
	for args, want := range map[string]string{
		"-nodes 0":                "powersync: -nodes is 0: want 1 to 2000\n",
		"-nodes 2001":             "powersync: -nodes is 2001: want 1 to 2000\n",
		"-workers 0":              "powersync: -workers is 0: want 1 or more\n",
		"-rounds -1":              "powersync: -rounds is -1: want 1 or more\n",
		"now":                     "powersync: there is no argument \"now\": all is said with flags\n",
		"-nodes x":                "powersync: invalid value \"x\" for flag -nodes: parse error\n",
		"-nodes 1 -metrics a:b:c": "",
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), strings.Fields(args), &out, &errOut, false)
		if want == "" {
			require.Equal(t, exitFailed, code, args)
			continue
		}
		require.Equal(t, exitUsage, code, args)
		require.Equal(t, want, errOut.String())
	}
	var errOut bytes.Buffer
	require.Equal(t, exitGood, run(t.Context(), []string{"-h"}, io.Discard, &errOut, false))
	require.Contains(t, errOut.String(), "usage: powersync")
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
