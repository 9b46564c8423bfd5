// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// The README of e2e has the matrix of the recorded BMCs. Where one cannot do a thing, it has the reason.
func TestRecordedBMCsDoWhatREADMESays(t *testing.T) {
	folder := needs.Given(t, "IRONSTATE_VENDORS", "recorded trees of BMCs")
	needs.Programs(t, "tar", "xz")
	trees, done, err := open(t.Context(), folder)
	require.NoError(t, err)
	defer done()
	var all bytes.Buffer
	matrix(t.Context(), &all, trees...)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), all.String(), "the matrix of e2e/README.md is another one: go run ./e2e/vendors prints it")

	i := slices.IndexFunc(trees, func(t *tree) bool { return t.name == "gigabyte" })
	require.GreaterOrEqual(t, i, 0)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trees[i].server.Certificate().Raw}), 0o600))
	t.Setenv("BMC_PASSWORD", password)
	again := filepath.Join(t.TempDir(), "gigabyte")
	var out, recorded, want bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-record", again, "-redfish", trees[i].server.URL, "-user", user, "-ca", ca}, &out, &out))
	require.NoError(t, run(t.Context(), []string{"-trees", again}, &recorded, &out))
	matrix(t.Context(), &want, trees[i])
	require.Equal(t, want.String(), recorded.String(), "a recording does what the BMC does")
}

// A folder that a user names has a folder for each BMC, with or without redfish/v1.
func TestAFolderOfTreesIsServed(t *testing.T) {
	folder := t.TempDir()
	for path, text := range map[string]string{
		"board/redfish/v1": `{"Systems": {"@odata.id": "/redfish/v1/Systems"}, ` +
			`"Managers": {"@odata.id": "/redfish/v1/Managers"}, "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}`,
		"board/redfish/v1/Systems": `{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]}`,
		"board/redfish/v1/Systems/1": `{"@odata.etag": "7", "PowerState": "On", ` +
			`"Boot": {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", ` +
			`"BootSourceOverrideEnabled@Redfish.AllowableValues": ["Once"]}, ` +
			`"Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", ` +
			`"@Redfish.ActionInfo": "/redfish/v1/Systems/1/ResetActionInfo"}}, "ProcessorSummary": {"Count": 2}, ` +
			`"MemorySummary": {"TotalSystemMemoryGiB": 4}, "BiosVersion": "1", "VirtualMedia": {"@odata.id": "/redfish/v1/Systems/1/Media"}}`,
		"board/redfish/v1/Systems/1/ResetActionInfo": `{"Parameters": [{"Name": "ResetType", "AllowableValues": ["On", "ForceOff", ` +
			`"ForceRestart"]}]}`,
		"board/redfish/v1/Systems/1/Media":     `{"Members": [{"@odata.id": "/redfish/v1/Systems/1/Media/CD1"}]}`,
		"board/redfish/v1/Systems/1/Media/CD1": `{"Id": "CD1", "Image": null, "Inserted": false}`,
		"rack":                                 `{"Systems": {"@odata.id": "/redfish/v1/systems"}}`,
		"rack/Systems":                         `{"Members": []}`,
	} {
		at := filepath.Join(folder, path)
		require.NoError(t, os.MkdirAll(at, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at, "index.json"), []byte(text), 0o600))
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-trees", folder}, &out, &out))
	none := "no: the BMC has 0 systems, and neither SystemID nor SystemName says which is meant: of [], 0 can be booted and reset |"
	require.Equal(t, `| | board | rack |
| --- | --- | --- |
| verify | power on | `+none+`
| power | on, off, reboot | `+none+`
| boot from disk | yes | `+none+`
| boot always from disk | set again at each start | `+none+`
| boot from CD | yes | `+none+`
| boot from the network | yes | `+none+`
| virtual CD | yes | `+none+`
| inspection | 4096 MiB, 2 of an unknown architecture, 0 disks, 0 NICs | `+none+`
| PCI devices | 0 functions | `+none+`
| BIOS | no: the system has no BIOS settings | `+none+`
| secure boot | no: the system has no secure boot | `+none+`
| firmware | 1 versions | `+none+`
| deployment by virtual media | yes | no: Deploy step deploy.deploy failed: log in: not supported: `+strings.TrimPrefix(none, "no: ")+`
`, out.String())

	t.Setenv("IRONSTATE_VENDORS", "")
	require.ErrorContains(t, run(t.Context(), nil, &out, &out), "-trees is missing")
	require.ErrorIs(t, run(t.Context(), []string{"-trees", filepath.Join(folder, "none")}, &out, &out), os.ErrNotExist)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "shelf"), 0o700))
	require.ErrorContains(t, run(t.Context(), []string{"-trees", folder}, &out, &out), "shelf has no /redfish/v1/index.json")
}
