// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/secret"
)

// seenBMC is a Redfish service that records the requests as it gets them.
type seenBMC struct {
	mu      sync.Mutex
	answers map[string]string
	seen    []string
	lasts   time.Duration // how long an answer takes
	atOnce  atomic.Int64
	most    int64
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
	now := b.atOnce.Add(1)
	defer b.atOnce.Add(-1)
	time.Sleep(b.lasts)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = max(b.most, now)
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

func TestTheRequestsOfBmclibAsTheBMCSeesThem(t *testing.T) {
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
	}, b.take())

	r.close(t.Context())
	require.Equal(t, []string{"DELETE /redfish/v1/Sessions/7 token"}, b.take())
}

// trip sends a request of the driver through the guard, and returns the status of the
// answer and its body.
func trip(t *testing.T, r *redfishConnection, method, url string) (status int, resource map[string]any, err error) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(`{"ResetType": "ForceOff"}`))
	require.NoError(t, err)
	resp, err := r.guard.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&resource))
	return resp.StatusCode, resource, nil
}

func TestNoRequestLeavesTheGuardButThoseOfPower(t *testing.T) {
	b := newSeenBMC()
	r := connect(t, b)
	ask := func(method, url string) (int, error) {
		status, _, err := trip(t, r, method, url)
		return status, err
	}
	const host = "https://guard:443"
	_, err := ask(http.MethodGet, host+guardSystems)
	require.ErrorIs(t, err, errNoCall)
	b.take()
	require.NoError(t, r.guard.call(t.Context(), func() error {
		_, err := r.driver.PowerStateGet(t.Context())
		b.take()
		for _, url := range []string{
			host + "@other/x", "https://other/redfish/v1/", "https://guard/redfish/v1/Machines/b",
			host + redfish.Root, // where gofish goes for an empty link
			host + "/redfish/v1/Machines", host + "/redfish/v1/Machines/a", host + "/redfish/v1/Sessions", host + "//other/x",
			"https://other:443/redfish/v1/Machines/b", "https://user@guard:443/redfish/v1/Machines/b",
		} {
			status, err := ask(http.MethodGet, url)
			require.NoError(t, err)
			require.Equal(t, http.StatusBadGateway, status, url)
			for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete} {
				_, err := ask(method, url)
				require.ErrorIs(t, failure.KindOf(err), verify.Protocol, "%s %s", method, url)
			}
		}
		for _, method := range []string{http.MethodPatch, http.MethodPut, http.MethodDelete} {
			_, err := ask(method, host+"/redfish/v1/Machines/b/reset")
			require.ErrorIs(t, failure.KindOf(err), verify.Protocol, method)
		}
		return err
	}))
	require.Empty(t, b.take())
}

func TestTheDriverSeesOneSystem(t *testing.T) {
	r := connect(t, newSeenBMC())
	require.NoError(t, r.guard.call(t.Context(), func() error {
		_, systems, err := trip(t, r, http.MethodGet, "https://guard:443"+guardSystems)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"Members": []any{map[string]any{"@odata.id": "/redfish/v1/Machines/b"}}}, systems)
		_, system, err := trip(t, r, http.MethodGet, "https://guard:443/redfish/v1/Machines/b")
		require.NoError(t, err)
		require.Equal(t, "/redfish/v1/Machines/b", system["@odata.id"], "its own path, not what the BMC says")
		require.Equal(t, map[string]any{}, system["MemorySummary"], "a text is no number")
		require.NotContains(t, system, "Bios")
		require.Equal(t, map[string]any{"ManagedBy": []any{}}, system["Links"])
		return nil
	}))
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
	require.Contains(t, seen[len(seen)-1], "PATCH /redfish/v1/Machines/b/ ")

	b.answers["GET /redfish/v1/Machines/b"] = "//other.invalid/redfish/v1/Machines/b"
	_, err = r.setBootDevice(t.Context(), bootDevices[0], true)
	require.ErrorContains(t, err, "the BMC sends us to another host")
}

func TestAMalformedAnswerIsABadGateway(t *testing.T) {
	for _, answer := range []string{"null", "[]", "7", `{"Name"`, strings.Repeat(`{"a":`, 30) + "7" + strings.Repeat("}", 30)} {
		b := newSeenBMC()
		r := connect(t, b)
		b.answers["GET /redfish/v1/Machines/b"] = answer
		require.ErrorIs(t, failure.KindOf(r.guard.call(t.Context(), func() error {
			_, err := r.driver.PowerStateGet(t.Context())
			status, _, ours := trip(t, r, http.MethodGet, "https://guard:443/redfish/v1/Machines/b")
			require.NoError(t, ours)
			require.Equal(t, http.StatusBadGateway, status)
			return err
		})), verify.Protocol)
	}
}

func TestNoRequestFollowsOneWithoutAnAnswer(t *testing.T) {
	b := newSeenBMC()
	r := connect(t, b)
	b.answers["GET /redfish/v1/Machines/b"] = "silence"
	err := r.guard.call(t.Context(), func() error {
		_, err := r.driver.PowerStateGet(t.Context())
		require.Error(t, err)
		before := len(b.take())
		require.Positive(t, before)
		for range 3 {
			_, _, lost := trip(t, r, http.MethodGet, "https://guard:443/redfish/v1/Machines/b")
			require.Equal(t, r.client.Lost(), lost)
		}
		return err
	})
	require.Equal(t, verify.Protocol, failure.KindOf(err))
	require.Empty(t, b.take())
	r.begin()
	require.NoError(t, r.client.Lost(), "the next operation opens a session")
}

// gofish reads the members of a collection in goroutines.
func TestTheGuardSendsOneRequestAtATime(t *testing.T) {
	b := newSeenBMC()
	r := connect(t, b)
	b.lasts = 5 * time.Millisecond
	require.NoError(t, r.guard.call(t.Context(), func() error {
		_, _, err := trip(t, r, http.MethodGet, "https://guard:443"+guardSystems)
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				req, _ := http.NewRequest(http.MethodGet, "https://guard:443/redfish/v1/Machines/b", nil)
				_, _ = r.guard.RoundTrip(req) // the requests are counted
			})
		}
		all.Wait()
		return nil
	}))
	require.Len(t, b.take(), 2+2+8)
	require.EqualValues(t, 1, b.most)
}

func TestTheDriversUserIsNone(t *testing.T) {
	r := connect(t, newSeenBMC())
	client := reflect.ValueOf(r.driver).Elem().FieldByName("redfishwrapper").Elem()
	for _, name := range []string{"user", "pass"} {
		require.Equal(t, "none", client.FieldByName(name).String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.powerState(ctx)
	require.Equal(t, verify.Cancelled, failure.KindOf(err), "the driver's own context has no end")
}
