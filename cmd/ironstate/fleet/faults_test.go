// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// falls returns on which of a hundred occasions a fault is played.
func falls(seed uint64, machine, fault string, rate float64) (all []bool) {
	d := newDice(seed, machine, fault, rate)
	for range 100 {
		all = append(all, d.fall())
	}
	return all
}

func TestFaultsFollowFromTheSeed(t *testing.T) {
	first := falls(1, "fleet-0001", "no-boot", 0.3)
	require.Equal(t, first, falls(1, "fleet-0001", "no-boot", 0.3))
	for _, other := range [][]bool{
		falls(2, "fleet-0001", "no-boot", 0.3), falls(1, "fleet-0002", "no-boot", 0.3), falls(1, "fleet-0001", "write-dies", 0.3),
	} {
		require.NotEqual(t, first, other)
	}
	require.NotContains(t, falls(1, "fleet-0001", "no-boot", 0), true)
	require.NotContains(t, falls(1, "fleet-0001", "no-boot", 1), false)
	sum := 0
	for n := range 100 {
		for _, f := range falls(uint64(n), "fleet-0001", "no-boot", 0.3) {
			if f {
				sum++
			}
		}
	}
	require.InDelta(t, 3000, sum, 300)
}

// ask sends a request to the BMC of a machine.
func ask(t *testing.T, m *machine, method, path, body string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://"+m.bmc.Addr+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	r.Header.Set("Content-Type", "application/json")
	answer, err := m.bmc.Client().Do(r)
	if err != nil {
		return 0
	}
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

const (
	system   = "/redfish/v1/Systems/1"
	resets   = system + "/Actions/ComputerSystem.Reset"
	slot     = "/redfish/v1/Managers/bmc/VirtualMedia/CD"
	powerOn  = `{"ResetType": "On"}`
	override = `{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}`
	insert   = `{"Image": "http://127.0.0.1:1/x.iso"}`
)

func TestFaultsOfABMC(t *testing.T) {
	t.Setenv(passwordVariable, "secret")
	for name, want := range map[string]struct {
		statuses [5]int // of a read, a boot device, a BIOS setting, an image and power on
		played   int64
	}{
		"":                    {[5]int{200, 200, 200, 204, 204}, 0},
		"bmc-unavailable":     {[5]int{503, 503, 503, 503, 503}, 5},
		"bmc-reset":           {[5]int{0, 0, 0, 0, 0}, 5},
		"power-refused":       {[5]int{200, 200, 200, 204, 500}, 1},
		"media-refused":       {[5]int{200, 200, 200, 500, 204}, 1},
		"boot-device-refused": {[5]int{200, 500, 200, 204, 204}, 1},
	} {
		args := []string{"-machines", "1", "-profile", "plain"}
		if name != "" {
			args = append(args, "-faults", name+"=1")
		}
		m := begin(t, args...).machines[0]
		require.Equal(t, want.statuses, [5]int{
			ask(t, m, http.MethodGet, system, ""), ask(t, m, http.MethodPatch, system, override),
			ask(t, m, http.MethodPatch, system+"/Bios/Settings", `{"Attributes": {}}`),
			ask(t, m, http.MethodPost, slot+"/Actions/VirtualMedia.InsertMedia", insert), ask(t, m, http.MethodPost, resets, powerOn),
		}, name)
		require.Equal(t, want.played, m.faults(), name)
	}
}

func TestAMachineThatDoesNotBootHangsUntilItIsReset(t *testing.T) {
	t.Setenv(passwordVariable, "secret")
	m := begin(t, "-machines", "1", "-profile", "plain", "-faults", "no-boot=0.5", "-seed", "3").machines[0]
	same := newDice(3, "fleet-0001", noBoot, 0.5)
	for n := range 8 {
		require.Equal(t, 204, ask(t, m, http.MethodPost, resets, powerOn))
		want := map[bool]string{true: isBooting, false: runsDisk}[same.fall()]
		for m.diskBoots.Load()+m.faults() != int64(n+1) || m.state() != want {
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 204, ask(t, m, http.MethodPost, resets, `{"ResetType": "ForceOff"}`))
		require.Equal(t, isOff, m.state())
	}
	require.Equal(t, same.played.Load(), m.faults())
	require.Equal(t, int64(8), m.powerOns.Load())
	require.Equal(t, int64(8), m.powerOffs.Load())
}
