// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

func TestTheDashboardQueriesMetricsThatExist(t *testing.T) {
	checkDashboard(t, serveHere(t, "-demo", "1"), `\bconductor_\w+`)
}

func TestTheDashboardQueriesMetricsOfEtcdThatExist(t *testing.T) {
	needs.Time(t)
	checkDashboard(t, serveProcess(t, "-data", filepath.Join(t.TempDir(), "data"), "-demo", "1"), `\b(conductor|etcd)_\w+`)
}

// checkDashboard reads the file that Grafana imports. It compares the metrics of a pattern with the metrics of a
// service.
func checkDashboard(t *testing.T, s *server, pattern string) {
	t.Helper()
	s.provision("demo-1", "manage")
	s.waitFor("demo-1", "manageable")

	text, err := os.ReadFile("grafana/conductors.json")
	require.NoError(t, err)
	var dashboard struct {
		Templating struct{ List []struct{ Name, Type string } }
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.Equal(t, "datasource", dashboard.Templating.List[0].Type)
	exposed := s.metrics()
	name, known, queries := regexp.MustCompile(pattern), regexp.MustCompile(`\b(conductor|etcd)_\w+`), 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			require.Regexp(t, known, target.Expr, panel.Title)
			for _, name := range name.FindAllString(target.Expr, -1) {
				require.Regexp(t, `(?m)^`+name+`[{ ]`, exposed, panel.Title)
			}
		}
	}
	require.GreaterOrEqual(t, queries, 20)
}
