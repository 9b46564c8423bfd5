// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// changes are the Driver's abilities that change something, each with a function that shows that it did.
var changes = map[string]struct {
	do   func(*bmc.Driver, *testing.T) error
	done func(*bmctest.Redfish) bool
}{
	"InsertMedia": {
		func(d *bmc.Driver, t *testing.T) error { return d.InsertMedia(t.Context(), "node", "cdrom", image) },
		func(s *bmctest.Redfish) bool { return s.Media("CD") == image },
	},
	"SetBIOS": {
		func(d *bmc.Driver, t *testing.T) error {
			_, err := d.SetBIOS(t.Context(), "node", map[string]any{"PowerProfile": "Performance"})
			return err
		},
		func(s *bmctest.Redfish) bool { return s.BIOS("1")["PowerProfile"] == "Performance" },
	},
	"SetBootMode": {
		func(d *bmc.Driver, t *testing.T) error { return d.SetBootMode(t.Context(), "node", "bios") },
		func(s *bmctest.Redfish) bool { return strings.HasSuffix(s.Boot("1"), " Legacy") },
	},
	"SetSecureBoot": {
		func(d *bmc.Driver, t *testing.T) error { return d.SetSecureBoot(t.Context(), "node", true) },
		func(s *bmctest.Redfish) bool { return s.SecureBoot("1") },
	},
	"InjectNMI": {
		func(d *bmc.Driver, t *testing.T) error { return d.InjectNMI(t.Context(), "node") },
		func(s *bmctest.Redfish) bool { return s.NMIs("1") == 1 },
	},
}

// A bad answer to a request for a system, a manager, a registry or a child resource ends
// no other change. If the Driver reports success, the change was made.
func TestABadAnswerNeverPassesForAChange(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(t *testing.T, faults ...bmctest.Fault) ([]bmctest.Request, *bmctest.Redfish, error) {
				server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = faults })
				d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
				err := change.do(d, t)
				requests := server.Requests()
				require.NoError(t, server.ClearFaults())
				require.NoError(t, d.SetPower(t.Context(), "node", states.PowerRebooting))
				return requests, server, err
			}
			healthy, server, err := run(t)
			require.NoError(t, err)
			require.True(t, change.done(server))
			writes := func(requests []bmctest.Request) (paths []string) {
				for _, r := range requests {
					require.True(t, strings.HasPrefix(r.Path, "/redfish/v1/"), r.Path)
					if r.Method != http.MethodGet && !strings.Contains(r.Path, "SessionService") {
						paths = append(paths, r.Method+" "+r.Path)
					}
				}
				return paths
			}
			usual := writes(healthy)
			var tried []string
			for _, asked := range healthy {
				if asked.Method != http.MethodGet || asked.Path == "/redfish/v1/" || asked.Path == systemsPath || slices.Contains(tried, asked.Path) {
					continue
				}
				tried = append(tried, asked.Path)
				for _, bad := range badAnswers(len(tried)) {
					requests, server, err := run(t, bmctest.Fault{On: asked.Path, Method: http.MethodGet, Do: bad})
					require.Subset(t, usual, writes(requests), "%s of %s", bad, asked.Path)
					require.LessOrEqual(t, len(writes(requests)), len(usual), "%s of %s", bad, asked.Path)
					if err == nil {
						require.True(t, change.done(server), "%s of %s", bad, asked.Path)
					}
				}
			}
			require.NotEmpty(t, tried)
		})
	}
}
