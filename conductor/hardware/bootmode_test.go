// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// losesMode lets a BMC show the boot mode Legacy from the first change of its system until it has accepted one with the
// boot mode alone, and always if it never takes that.
func losesMode(server *bmctest.Redfish, never bool) {
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Method: http.MethodGet,
		Do: bmctest.Change("loses the mode", func(_ http.Header, body []byte) []byte {
			const attempts = 2 // at the boot device
			if n := patchesOf(server); n == 0 || n > attempts && !never {
				return body
			}
			return bytes.Replace(body, []byte(`"BootSourceOverrideMode":"UEFI"`), []byte(`"BootSourceOverrideMode":"Legacy"`), 1)
		})})
}

// A Supermicro that loses its boot mode beside a boot device gets it in a step, as in Ironic.
func TestAStepKeepsTheBootModeOfASupermicro(t *testing.T) {
	for name, test := range map[string]struct {
		vendor, mode string
		never        bool
		want         states.State
		patches      int
	}{
		"Supermicro":                  {"Supermicro", "uefi", false, states.Active, 3},
		"Supermicro, in vain":         {"SUPERMICRO", "uefi", true, states.DeployFail, 3},
		"Supermicro, of another mode": {"Supermicro", "", false, states.DeployFail, 2},
		"another vendor":              {"Contoso", "uefi", false, states.DeployFail, 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.Manufacturer = "Supermicro" })
			losesMode(server, test.never)
			s := start(t, hardware.Config{})
			n := s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image}),
				func(n *conductor.Node) {
					n.Properties = map[string]any{"vendor": test.vendor}
					if test.mode != "" {
						n.Properties["capabilities"] = "boot_mode:" + test.mode
					}
				})
			n = s.request(n, "active")
			require.Equal(t, test.want, n.ProvisionState, n.LastError)
			require.Equal(t, test.patches, patchesOf(server))
			if test.want == states.DeployFail {
				require.Contains(t, n.LastError, `in the mode "Legacy"`)
			}
		})
	}
}

// A client may ask for a boot device while the machine runs its instance.
func TestAClientsBootDeviceSetsNoBootMode(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.Manufacturer = "Supermicro" })
	losesMode(server, false)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
		n.ProvisionState = states.Active
		n.Properties = map[string]any{"vendor": "Supermicro", "capabilities": "boot_mode:uefi"}
	})
	require.ErrorContains(t, s.SetBootDevice(t.Context(), n.UUID, "pxe", true), `in the mode "Legacy"`)
	require.Equal(t, 2, patchesOf(server))
}
