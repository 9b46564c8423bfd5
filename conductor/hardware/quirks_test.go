// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package hardware_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// quirky is a machine that is on and has a BMC with faults.
type quirky struct {
	*bmctest.Redfish
	profile bmctest.Profile

	mu    sync.Mutex
	boots []string // the source and the image of each boot
}

func startQuirky(t *testing.T, p bmctest.Profile, faults ...bmctest.Fault) *quirky {
	q := &quirky{profile: p}
	q.Redfish = startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Profile, c.Faults = p, faults
		c.Systems = []bmctest.System{{Power: "On", OnPower: func(on bool, source, image string) {
			q.mu.Lock()
			defer q.mu.Unlock()
			if on {
				q.boots = append(q.boots, source+" "+image)
			}
		}}}
	})
	return q
}

// live leads a node from a state to active, by an agent from virtual media, as far as it gets.
func (q *quirky) live(t *testing.T, config hardware.Config, from states.State) *conductor.Node {
	s := start(t, config)
	n := s.node(redfishMachine(q.Redfish, t), withMedia(from, "custom-agent", map[string]any{"deploy_iso": image}, nil),
		withProfile(q.profile), func(n *conductor.Node) { n.DriverInfo["redfish_verify_ca"] = false }) // in a bubble it is not valid
	if n.ProvisionState == states.Enroll {
		n = s.request(n, "manage")
	}
	if n.ProvisionState == states.Manageable {
		n = s.request(n, "provide")
	}
	if n.ProvisionState == states.Available {
		n = s.request(n, "active")
	}
	if n.ProvisionState == states.DeployWait {
		require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
		n = s.settle(n)
	}
	return n
}

// requireLife requires that the machine is enrolled, boots the agent once, and then its disk.
func (q *quirky) requireLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := q.live(t, hardware.Config{}, states.Enroll)
		require.Equal(t, states.Active, n.ProvisionState, n.LastError)
		require.Empty(t, n.LastError)
		require.Equal(t, states.PowerOn, n.Power)
	})
	q.requireBoots(t)
	require.Empty(t, q.Media(""))
	require.Empty(t, q.Sessions())
}

// requireBoots requires that the machine has booted its agent from virtual media, then its disk, and is on.
func (q *quirky) requireBoots(t *testing.T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	require.Len(t, q.boots, 2)
	require.Equal(t, "Cd "+image, q.boots[0])
	require.Regexp(t, "^(Hdd|None) ", q.boots[1], "without an override it is the disk, too")
	require.Equal(t, "On", q.Power(q.profile.SystemID))
}

// What people report of BMCs, on a BMC without other quirks, and on each family all that it has.
func TestAMachineIsDeployedWhateverTheQuirksOfItsBMC(t *testing.T) {
	for _, fault := range bmctest.Quirks() {
		t.Run(fmt.Sprint(fault.Do), func(t *testing.T) {
			startQuirky(t, bmctest.Profile{SystemID: "1"}, fault).requireLife(t)
		})
	}
	for _, p := range bmctest.Profiles() {
		t.Run(p.Name, func(t *testing.T) { startQuirky(t, p, p.Quirks...).requireLife(t) })
	}
}

// Each request of a BMC has the effect. The timeout ends the calls of those that do not answer.
func TestABrokenBMCEndsWorkWithAnErrorAndWithoutASuccess(t *testing.T) {
	for _, effect := range bmctest.Effects() {
		t.Run(effect.String(), func(t *testing.T) {
			broken := bmctest.Fault{Do: effect}
			plain := bmctest.Profile{SystemID: "1"}
			if effect.Fails() == "" {
				startQuirky(t, plain, broken).requireLife(t)
				return
			}
			for from, want := range map[states.State]states.State{states.Enroll: states.Enroll, states.Available: states.DeployFail} {
				q := startQuirky(t, plain, broken)
				n := q.live(t, hardware.Config{Timeout: 50 * time.Millisecond}, from)
				require.Equal(t, want, n.ProvisionState, effect.Fails())
				require.NotEmpty(t, n.LastError)
				require.NotContains(t, n.LastError, password)
				require.Empty(t, q.boots)
				for _, r := range q.Requests() {
					require.True(t, r.Method != http.MethodPatch, "%v", r)
				}
			}
		})
	}
}

// hangs reports whether a BMC with the effect keeps its client waiting, which no bubble can end.
func hangs(effect bmctest.Effect) bool {
	return slices.ContainsFunc([]string{"Silent", "HangAfter", "Drip"}, func(name string) bool {
		return strings.HasPrefix(effect.String(), name)
	})
}

// One request that changes the machine has the effect. Some requests are carried out nevertheless, or sent again.
func TestAChangeWithABrokenAnswerHasHappenedOrFailsTheWork(t *testing.T) {
	for _, path := range []string{insertPath, ejectPath, resetPath} {
		for _, effect := range bmctest.Effects() {
			if hangs(effect) {
				continue
			}
			t.Run(fmt.Sprint(effect, " ", path), func(t *testing.T) {
				q := startQuirky(t, bmctest.Profile{SystemID: "1"}, bmctest.Fault{On: path, Times: 1, Do: effect})
				synctest.Test(t, func(t *testing.T) {
					n := q.live(t, hardware.Config{}, states.Available)
					require.Equal(t, n.ProvisionState == states.Active, n.LastError == "", "%v: %s", n.ProvisionState, n.LastError)
					if n.ProvisionState != states.Active {
						require.Equal(t, states.DeployFail, n.ProvisionState)
						return
					}
					q.requireBoots(t)
				})
			})
		}
	}
}
