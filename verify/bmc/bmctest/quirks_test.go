// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestEachProfilesQuirkIsListedOnce(t *testing.T) {
	seen := map[string]int{}
	for _, q := range bmctest.Quirks() {
		seen[q.Do.String()]++
		require.Empty(t, q.Do.Fails(), q.Do)
	}
	for _, p := range bmctest.Profiles() {
		for _, e := range p.Refusals {
			require.Equal(t, 1, seen[e.String()], e)
		}
		for _, q := range p.Quirks {
			require.Equal(t, 1, seen[q.Do.String()], q.Do)
		}
	}
}

// staying returns a client of the BMC that follows no redirect.
func staying(bmc *bmctest.Redfish) *http.Client {
	c := *bmc.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// An effect on some requests is no effect on the others, which its fault does not count and other faults may have.
func TestAFaultCountsTheRequestsOfItsEffect(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{
		{Times: 1, Do: bmctest.Ejecting()}, {Times: 1, Do: bmctest.RequireEjectBody()}, {Method: post, Do: bmctest.Redirect(308, "*/")},
	}})
	for _, test := range []struct {
		method, path, body string
		status             int
	}{
		{get, system, "", 200}, {post, reset, `{"ResetType": "On"}`, 308}, {post, eject, "{}", 308}, {post, eject, "", 415},
		{post, insert, `{"Image": "` + iso + `"}`, 500}, {post, insert, "{}", 308}, {post, insert + "/", `{"Image": "` + iso + `"}`, 204},
		{post, eject, "", 308},
	} {
		r := askOver(t, staying(bmc), bmc, test.method, test.path, test.body)
		require.Equal(t, test.status, r.StatusCode, "%+v", test)
		if test.status == 308 {
			require.Equal(t, test.path+"/", r.Header.Get("Location"))
		}
	}
	require.Equal(t, iso, bmc.Media("CD"))
	require.Equal(t, "Off", bmc.Power("1"))
}

func TestARedirectMayLeadAnywhere(t *testing.T) {
	for location, want := range map[string]string{"": "", "*": system, "https://other.invalid*?a": "https://other.invalid" + system + "?a"} {
		bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{{Do: bmctest.Redirect(http.StatusSeeOther, location)}}})
		r := askOver(t, staying(bmc), bmc, get, system, "")
		require.Equal(t, http.StatusSeeOther, r.StatusCode)
		require.Equal(t, want, r.Header.Get("Location"))
		require.Equal(t, http.StatusSeeOther, askOver(t, staying(bmc), bmc, get, system+"/", "").StatusCode)
	}
}

func TestAMachineChangesItsPowerStateBeforeAReset(t *testing.T) {
	var powered []bool
	bmc := newRedfish(t, bmctest.RedfishConfig{
		Systems: []bmctest.System{{Power: "On", OnPower: func(on bool, _, _ string) { powered = append(powered, on) }}},
		Faults:  []bmctest.Fault{{Times: 1, Do: bmctest.Meanwhile("Off", 409)}, {Times: 1, Do: bmctest.Meanwhile("On", 0)}},
	})
	require.Equal(t, 200, ask(t, bmc, get, system, "").StatusCode)
	require.Equal(t, "On", bmc.Power("1"))
	require.Equal(t, 409, ask(t, bmc, post, reset, `{"ResetType": "ForceOff"}`).StatusCode)
	require.Equal(t, "Off", bmc.Power("1"))
	asking, err := http.NewRequest(post, "https://"+bmc.Addr+reset, nil)
	require.NoError(t, err)
	_, err = bmc.Client().Do(asking)
	require.Error(t, err)
	require.Equal(t, "On", bmc.Power("1"))
	require.Equal(t, []bool{false, true}, powered)
	require.Equal(t, 204, ask(t, bmc, post, reset, `{"ResetType": "ForceOff"}`).StatusCode)
}

func TestAnActionIsRefusedForItsCondition(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Profile{Refusals: []bmctest.Effect{bmctest.RefuseActionIfMatch()}}})
	require.Equal(t, 412, ask(t, bmc, post, reset, `{"ResetType": "On"}`, "If-Match", "*").StatusCode)
	require.Equal(t, 204, ask(t, bmc, post, reset, `{"ResetType": "On"}`).StatusCode)
	require.Equal(t, 200, ask(t, bmc, patch, system, `{"Boot": {}}`, "If-Match", "*").StatusCode)
}

func TestAnEmptySlotSeemsToBeFull(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{{Do: bmctest.EmptyInserted()}}})
	require.Subset(t, read(t, bmc, cd), map[string]any{"Inserted": true, "ConnectedVia": "NotConnected", "Image": nil})
	require.NotContains(t, read(t, bmc, system), "Inserted")
}

func TestTheResetTypesAreListedInTheSystemOrBehindIt(t *testing.T) {
	for _, behind := range []bool{false, true} {
		bmc := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Profile{ResetTypes: []string{"On"}, ActionInfo: behind}})
		action := read(t, bmc, system)["Actions"].(map[string]any)["#ComputerSystem.Reset"].(map[string]any)
		require.Equal(t, behind, action["ResetType@Redfish.AllowableValues"] == nil)
		info, listed := action["@Redfish.ActionInfo"].(string)
		require.Equal(t, behind, listed)
		if !behind {
			require.Equal(t, 404, ask(t, bmc, get, system+"/ResetActionInfo", "").StatusCode)
			continue
		}
		require.Equal(t, []any{"On"}, read(t, bmc, info)["Parameters"].([]any)[0].(map[string]any)["AllowableValues"])
	}
}

func TestSeveralPropertiesAreLeftOut(t *testing.T) {
	do := bmctest.WithoutProperty("Inserted", "Image")
	require.Equal(t, `WithoutProperty("Inserted" "Image")`, do.String())
	bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{{Do: do}}})
	slot := read(t, bmc, cd)
	require.NotContains(t, slot, "Inserted")
	require.NotContains(t, slot, "Image")
	require.Contains(t, slot, "ConnectedVia")
}
