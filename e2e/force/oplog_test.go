// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/try"
)

func TestTheOperationsOfAConductorAreInItsLogs(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	line := func(second, asked int, message, operation string) string {
		text := `{"time":"` + at(second).Format(time.RFC3339Nano) + `","level":"DEBUG","msg":"` + message +
			`","node":"n","operation":"` + operation + `","revision":7,"claim":"c"`
		if asked > 0 {
			text += `,"asked":"` + at(asked).Format(time.RFC3339Nano) + `"`
		}
		return text + "}"
	}
	dir := t.TempDir()
	write := func(name string, lines ...string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	write("alpha.001.log", `{"msg":"node moved","revision":"none"}`, "panic: no record",
		line(2, 1, operationBegins, "verify"), line(4, 3, operationBegins, "power on"), line(5, 1, operationEnds, "verify"))
	write("alpha.002.log", line(9, 3, operationEnds, "power on"))
	write("beta.001.log", line(2, 0, operationBegins, "verify"))
	require.Equal(t, []history.Operation{
		{Conductor: "alpha", Node: "n", Name: "verify", Claim: "c", Revision: 7, Asked: at(1), Begin: at(2), End: at(5)},
		{Conductor: "alpha", Node: "n", Name: "power on", Claim: "c", Revision: 7, Asked: at(3), Begin: at(4), End: at(30)},
	}, operations(dir, "alpha", at(30)))
	require.ErrorContains(t, try.Catch(func() { operations(dir, "beta", at(30)) }), "beta.001.log: an operation lacks")
}
