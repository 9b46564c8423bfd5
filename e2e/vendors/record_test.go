// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

const (
	operator = "operator-77"
	horse    = "correct horse 77"
	board    = root + "/Chassis/1/Board-Finance-0815"
	entries  = root + "/Systems/1/Log/Entries"
)

// answers lets a path of a BMC answer with a text.
func answers(path, text string) bmctest.Fault {
	return bmctest.Fault{On: path, Method: http.MethodGet, Do: bmctest.Handle("a resource", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	})}
}

// startBMC starts a BMC whose resources tell much, and returns the file of its authority.
func startBMC(t *testing.T, set ...func(*bmctest.RedfishConfig)) (server *bmctest.Redfish, ca string) {
	config := bmctest.RedfishConfig{
		Users:   map[string]secret.Text{operator: secret.New(horse)},
		Systems: []bmctest.System{{ID: "1", Power: "On", Hardware: bmctest.Hardware{MACs: []string{"52:54:00:AB:CD:01", "52:54:00:ab:cd:02"}}}},
		Faults: []bmctest.Fault{
			{On: root + "/Systems/1", Method: http.MethodGet, Do: bmctest.Change("more", func(_ http.Header, body []byte) []byte {
				var o object
				if json.Unmarshal(body, &o) != nil {
					return body
				}
				o["HostName"], o["AssetTag"] = "web-17.corp.example.com", "Finance-0815"
				o["Oem"] = object{
					"Note":             "idrac-525400abcd01 at 10.17.4.5 and fe80::5054:ff:feab:cd01, by operator-77@corp.example.com: " + horse,
					"Boards":           []object{{"@odata.id": board}, {"@odata.id": entries}},
					"NIC 525400abcd01": "NIC.525400ABCD01-52-54-00-AB-CD-02",
				}
				body, _ = json.Marshal(o)
				return body
			})},
			answers(board, `{"Id": "Board-Finance-0815", "Parts": 3}`),
			answers(entries, `{"@odata.type": "#LogEntryCollection.LogEntryCollection", "Name": "Log", "Members": [{"Message": "door opened"}]}`),
		},
	}
	for _, set := range set {
		set(&config)
	}
	server, err := bmctest.NewRedfish(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	ca = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))
	t.Setenv("BMC_PASSWORD", horse)
	return server, ca
}

// serials returns the serial numbers, UUIDs and MAC addresses in a value.
func serials(value any) (found []string) {
	switch value := value.(type) {
	case object:
		for name, value := range value {
			if text, ok := value.(string); ok &&
				(strings.HasSuffix(name, "SerialNumber") || name == "UUID" || strings.Contains(name, "MACAddress")) {
				found = append(found, text)
			}
			found = append(found, serials(value)...)
		}
	case []any:
		for _, element := range value {
			found = append(found, serials(element)...)
		}
	}
	return found
}

func TestARecordingHasNoSecretsAndDoesWhatTheBMCDoes(t *testing.T) {
	needs.Time(t)
	for name, set := range map[string]func(*bmctest.RedfishConfig){
		"by a session":            func(*bmctest.RedfishConfig) {},
		"by Basic authentication": func(c *bmctest.RedfishConfig) { c.NoSessions = true },
	} {
		t.Run(name, func(t *testing.T) {
			server, ca := startBMC(t, set)
			folder := filepath.Join(t.TempDir(), "box")
			var out, errOut bytes.Buffer
			args := []string{"-record", folder, "-redfish", "https://" + server.Addr, "-user", operator, "-ca", ca}
			require.NoError(t, run(t.Context(), args, &out, &errOut))
			require.Empty(t, server.Sessions(), "it is closed")
			require.Contains(t, out.String(), " resources are in "+folder+", and 0 could not be read\n")

			var all strings.Builder
			require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				all.WriteString(strings.ToLower(strings.TrimPrefix(path, folder) + "\n" + string(text)))
				return err
			}))
			base, err := url.Parse("https://" + server.Addr)
			require.NoError(t, err)
			c := recording{user: operator, password: horse, unverified: true}
			b := &service{recording: c, base: base, client: client(c)}
			defer b.client.CloseIdleConnections()
			w := &walk{bounds: defaultBounds, get: b.get}
			require.NoError(t, w.run(t.Context()))
			var ids []string
			for _, o := range w.found {
				ids = append(ids, serials(o)...)
			}
			require.Greater(t, len(ids), 10)
			for _, secret := range append(ids, operator, horse, "525400abcd01", "web-17", "corp", "finance", "10.17.4.5", "fe80", "door opened") {
				require.NotContains(t, all.String(), strings.ToLower(secret))
			}
			require.Contains(t, all.String(), `"parts": 3`, "a link with an asset tag leads somewhere")

			var recorded bytes.Buffer
			require.NoError(t, run(t.Context(), []string{"-trees", folder}, &recorded, &errOut))
			require.Equal(t, `| | box |
| --- | --- |
| verify | power on |
| power | on, off, reboot |
| boot from disk | yes |
| boot always from disk | yes |
| boot from CD | yes |
| boot from the network | yes |
| virtual CD | yes |
| inspection | 65536 MiB, 32 x86_64, 2 disks, 2 NICs |
| PCI devices | 2 functions |
| BIOS | 6 settings, 6 with a type |
| secure boot | yes |
| firmware | 2 versions |
| deployment by virtual media | yes |
`, recorded.String())
		})
	}
}

func TestABMCThatCannotBeRecordedIsNotRecorded(t *testing.T) {
	server, ca := startBMC(t)
	folder, full := filepath.Join(t.TempDir(), "box"), t.TempDir()
	text := filepath.Join(full, "text")
	require.NoError(t, os.WriteFile(text, nil, 0o600))
	var out bytes.Buffer
	address := "https://" + server.Addr
	for want, args := range map[string][]string{
		"-record is missing":                {"-redfish", address, "-user", operator},
		"-redfish is no URL":                {"-record", folder, "-user", operator},
		"-redfish is no URL such":           {"-record", folder, "-redfish", "http://" + server.Addr, "-user", operator},
		"the user is for -user":             {"-record", folder, "-redfish", "https://a:b@" + server.Addr, "-user", operator},
		"-user or $BMC_PASSWORD is missing": {"-record", folder, "-redfish", address},
		"which is not empty":                {"-record", full, "-redfish", address, "-user", operator},
		"-ca: no certificate in PEM":        {"-ca", text},
	} {
		err := run(t.Context(), args, &out, &out)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, program.ErrUsage)
	}
	args := []string{"-record", folder, "-redfish", address, "-user", operator}
	require.ErrorContains(t, run(t.Context(), args, &out, &out), "certificate")
	require.Zero(t, server.Logins().Attempts, "an unverified BMC gets no password")

	verified := append(args, "-ca", ca)
	t.Setenv("BMC_PASSWORD", "wrong horse")
	require.ErrorContains(t, run(t.Context(), verified, &out, &out), "the BMC opens no session: status 401")
	t.Setenv("BMC_PASSWORD", horse)
	elsewhere := bmctest.Handle("elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://192.0.2.1/", http.StatusTemporaryRedirect)
	})
	server.AddFault(bmctest.Fault{On: root + "/SessionService/Sessions", Method: http.MethodPost, Times: 1, Do: elsewhere})
	require.ErrorContains(t, run(t.Context(), verified, &out, &out), "redirects to another host")
	server.AddFault(bmctest.Fault{On: root + "/Systems", Do: bmctest.Status(http.StatusInternalServerError)})
	require.NoError(t, run(t.Context(), append(args, "-insecure"), &out, &out))
	require.Contains(t, out.String(), "not read: /redfish/v1/Systems: status 500\n")
	require.NotContains(t, out.String(), horse)
}
