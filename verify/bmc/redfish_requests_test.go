// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// seenBMC is a Redfish service that records the requests as it gets them.
type seenBMC struct {
	mu      sync.Mutex
	answers map[string]string
	seen    []string
}

func newSeenBMC() *seenBMC {
	return &seenBMC{answers: map[string]string{
		"GET /redfish/v1/": `{"RedfishVersion": "1.15.0", "Systems": {"@odata.id": "/redfish/v1/Machines"},
			"Links": {"Sessions": {"@odata.id": "/redfish/v1/Sessions"}}}`,
		"POST /redfish/v1/Sessions": `{}`,
		"GET /redfish/v1/Machines": `{"Members": [{"@odata.id": "/redfish/v1/Machines/a"}],
			"Members@odata.nextLink": "/redfish/v1/Machines?page=2"}`,
		"GET /redfish/v1/Machines?page=2": `{"Members": [{"@odata.id": "/redfish/v1/Machines/b"}]}`,
		"GET /redfish/v1/Machines/b": `{"@odata.id": "/redfish/v1/Machines/a", "Name": "b", "PowerState": "On",
			"MemorySummary": {"TotalSystemMemoryGiB": "96"}, "Bios": null, "Links": {"ManagedBy": [null]},
			"Boot": {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideMode": "UEFI"},
			"Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Machines/b/reset"}}}`,
		"POST /redfish/v1/Machines/b/reset": `{}`,
		"PATCH /redfish/v1/Machines/b":      `{}`,
		"DELETE /redfish/v1/Sessions/7":     `{}`,
	}}
}

func (b *seenBMC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := r.Method + " " + r.URL.RequestURI()
	body, _ := io.ReadAll(r.Body) // a part of it shows in seen
	b.seen = append(b.seen, strings.Join(strings.Fields(
		strings.Join([]string{asked, string(body), r.Header.Get("X-Auth-Token"), r.Header.Get("If-Match")}, " ")), " "))
	answer, ok := b.answers[asked]
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(answer, "/"):
		w.Header().Set("Location", answer)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	case answer == "silence":
		panic(http.ErrAbortHandler)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case asked == "POST /redfish/v1/Sessions":
		w.Header().Set("X-Auth-Token", "token")
		w.Header().Set("Location", "/redfish/v1/Sessions/7")
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPatch: // of the boot override
		read := "GET " + r.URL.RequestURI()
		b.answers[read] = strings.Replace(b.answers[read], "Disabled", "Continuous", 1)
	case strings.HasPrefix(asked, "GET /redfish/v1/Machines/"):
		w.Header().Set("ETag", `W/"1"`)
	}
	_, _ = io.WriteString(w, answer)
}

// take returns what the BMC has seen since the last call.
func (b *seenBMC) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.seen
	b.seen = nil
	return seen
}

// connect opens a connection to a BMC.
func connect(t *testing.T, b *seenBMC) *redfishConnection {
	t.Helper()
	front := httptest.NewTLSServer(b)
	front.Config.ErrorLog = nil
	t.Cleanup(front.Close)
	address := front.Listener.Addr().(*net.TCPAddr)
	config, err := Config{
		Host: address.IP.String(), RedfishPort: address.Port, Protocol: redfishProtocol, InsecureSkipTLSVerify: true,
		User: "admin", Password: secret.New("password"), SystemID: "b",
	}.complete()
	require.NoError(t, err)
	r := newRedfish(config)
	require.NoError(t, r.open(t.Context()))
	return r
}

func TestTheRequestsAsTheBMCSeesThem(t *testing.T) {
	b := newSeenBMC()
	r := connect(t, b)
	require.Equal(t, []string{
		"GET /redfish/v1/",
		`POST /redfish/v1/Sessions {"Password":"password","UserName":"admin"}`,
	}, b.take())

	word, err := r.powerState(t.Context())
	require.NoError(t, err)
	require.Equal(t, "On", word)
	require.Equal(t, []string{
		"GET /redfish/v1/Machines token",
		"GET /redfish/v1/Machines?page=2 token",
		"GET /redfish/v1/Machines/b token",
	}, b.take())

	_, err = r.setPower(t.Context(), "off")
	require.NoError(t, err)
	require.Equal(t, []string{
		"GET /redfish/v1/Machines/b token",
		`POST /redfish/v1/Machines/b/reset {"ResetType":"ForceOff"} token`,
	}, b.take())

	_, err = r.setBootDevice(t.Context(), bootDevices[0], true)
	require.NoError(t, err)
	require.Equal(t, []string{
		"GET /redfish/v1/Machines/b token",
		`PATCH /redfish/v1/Machines/b {"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Continuous"}} token W/"1"`,
		"GET /redfish/v1/Machines/b token",
	}, b.take())

	r.close(t.Context())
	require.Equal(t, []string{"DELETE /redfish/v1/Sessions/7 token"}, b.take())
}

// A change goes where the system is, without a redirect.
func TestASystemThatHasMovedIsChangedWhereItIs(t *testing.T) {
	b := newSeenBMC()
	r := connect(t, b)
	b.answers["GET /redfish/v1/Machines/b/"] = b.answers["GET /redfish/v1/Machines/b"]
	b.answers["PATCH /redfish/v1/Machines/b/"] = "{}"
	b.answers["GET /redfish/v1/Machines/b"] = "/redfish/v1/Machines/b/"
	_, err := r.setBootDevice(t.Context(), bootDevices[0], true)
	require.NoError(t, err)
	seen := b.take()
	require.Contains(t, seen[len(seen)-2], "PATCH /redfish/v1/Machines/b/ ")
	require.Equal(t, "GET /redfish/v1/Machines/b/ token", seen[len(seen)-1])

	b.answers["GET /redfish/v1/Machines/b"] = "//other.invalid/redfish/v1/Machines/b"
	_, err = r.setBootDevice(t.Context(), bootDevices[0], true)
	require.ErrorContains(t, err, "the BMC sends us to another host")
}

func TestAMalformedSystemHasNoPowerState(t *testing.T) {
	for _, answer := range []string{"null", "[]", "7", `{"Name"`, `{"PowerState": 7}`} {
		b := newSeenBMC()
		r := connect(t, b)
		b.answers["GET /redfish/v1/Machines/b"] = answer
		_, err := r.powerState(t.Context())
		require.Equal(t, verify.Protocol, failure.KindOf(err), answer)
	}
}

func TestARequestWithoutAnAnswerEndsTheOperation(t *testing.T) {
	b := newSeenBMC()
	r := connect(t, b)
	b.answers["GET /redfish/v1/Machines/b"] = "silence"
	_, err := r.powerState(t.Context())
	require.Equal(t, verify.Protocol, failure.KindOf(err))
	require.Error(t, r.client.Ended())
	seen := b.take()
	require.Equal(t, "GET /redfish/v1/Machines/b token", seen[len(seen)-1])
	r.begin()
	require.NoError(t, r.client.Ended(), "the next operation opens a session")
}
