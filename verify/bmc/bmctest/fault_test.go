// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const getSystem = "GET " + system + " HTTP/1.1\r\nHost: bmc\r\nAuthorization: Basic YWRtaW46Ym1jdGVzdC1wYXNzd29yZA==\r\n\r\n"

// dialTLS returns a connection to bmc over which getSystem has been sent.
func dialTLS(t *testing.T, bmc *bmctest.Redfish) net.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", bmc.Addr, &tls.Config{RootCAs: bmc.CertPool})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, getSystem)
	require.NoError(t, err)
	return c
}

func TestResponseBreaksAtAnyByte(t *testing.T) {
	tests := []struct {
		name string
		do   func(n int) bmctest.Effect
		end  error // of the read of the next byte
	}{
		{"HangAfter", bmctest.HangAfter, os.ErrDeadlineExceeded},
		{"ResetAfter", bmctest.ResetAfter, syscall.ECONNRESET},
		{"CloseAfter", bmctest.CloseAfter, io.EOF},
	}
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	for _, tt := range tests {
		for _, n := range []int{0, 1, 8, 9, 12, 17, 100, 300, 500, 999} {
			t.Run(fmt.Sprint(tt.name, n), func(t *testing.T) {
				require.NoError(t, bmc.ClearFaults())
				bmc.AddFault(bmctest.Fault{On: system, Do: tt.do(n)})
				c := dialTLS(t, bmc)
				got := make([]byte, n)
				_, err := io.ReadFull(c, got)
				require.NoError(t, err)
				require.Equal(t, "HTTP/1.1 200 OK\r\n"[:min(n, 17)], string(got[:min(n, 17)]))
				if tt.end == os.ErrDeadlineExceeded {
					require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Millisecond))) // in vain, however short
				}
				_, err = c.Read(make([]byte, 1))
				require.ErrorIs(t, err, tt.end)
			})
		}
	}
}

func TestWholeResponseCanComeBeforeTheHang(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Do: bmctest.CloseAfter(1 << 20)})
	r := ask(t, bmc, http.MethodGet, system, "")
	require.Equal(t, 200, r.StatusCode)
	require.Contains(t, string(r.body), `"PowerState":"Off"`)
	require.NotEmpty(t, r.Header.Get("ETag"))
	require.NotEmpty(t, r.Header.Get("Date"))
}

func TestLostResponseIsDoneAllTheSame(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{{On: reset, Do: bmctest.ResetAfter(0)}}})
	client := dial(bmc, bmctest.DefaultPassword)
	ctx := t.Context()
	require.NoError(t, client.Open(ctx))
	_, err := client.SetPowerState(ctx, "on")
	require.Error(t, err)
	require.Equal(t, "On", bmc.Power("1"))
	require.NoError(t, client.Close(ctx))
}

func TestEffectsOnResponses(t *testing.T) {
	const other = "https://another-bmc.invalid/redfish/v1/"
	tests := []struct {
		do     bmctest.Effect
		status int
		header string
		want   string // of the header
		body   string // a regular expression
	}{
		{do: bmctest.Delay(time.Millisecond), status: 200, body: `"PowerState":"Off"`},
		{do: bmctest.Drip(0), status: 200, body: `"PowerState":"Off"`},
		{do: bmctest.BadJSON(), status: 200, header: "Content-Type", want: "application/json", body: `^\{"PowerState": On`},
		{do: bmctest.TruncatedJSON(), status: 200, header: "Content-Type", want: "application/json", body: `^\{.*[^}]$`},
		{do: bmctest.HTMLPage(), status: 200, header: "Content-Type", want: "text/html; charset=utf-8", body: `<html>`},
		{do: bmctest.Status(401), status: 401, header: "WWW-Authenticate", want: `Basic realm="bmctest"`, body: `NoValid`},
		{do: bmctest.Status(404), status: 404, body: `Not Found`},
		{do: bmctest.Status(500), status: 500, body: `Internal Server Error`},
		{do: bmctest.Status(0), status: 500, body: `InternalError`},
		{do: bmctest.Locked(), status: 403, body: `locked`},
		{do: bmctest.Unavailable(1500 * time.Millisecond), status: 503, header: "Retry-After", want: "2", body: `Unavailable`},
		{do: bmctest.RedirectLoop(), status: 307, header: "Location", want: system, body: `^$`},
		{do: bmctest.RedirectTo(other), status: 307, header: "Location", want: other, body: `^$`},
		{do: bmctest.Property("PowerState", nil), status: 200, body: `"PowerState":null`},
		{do: bmctest.Property("PowerState", "Paused"), status: 200, body: `"PowerState":"Paused"`},
		{do: bmctest.Property("PowerState", func() {}), status: 200, body: `"PowerState":"Off"`},
		{do: bmctest.WithoutProperty("PowerState"), status: 200, body: `"PCIeDevices@odata.count":2,"ProcessorSummary"`},
		{do: bmctest.Body("null"), status: 200, header: "Content-Type", want: "application/json", body: `^null$`},
		{do: bmctest.LongBody(5000), status: 200, body: `^\{"Name":"A{1000}A*"\}$`},
		{do: bmctest.LongError(502, 5000), status: 502, body: `^\{"Name":"A{1000}A*"\}$`},
		{do: bmctest.Raw("HTTP/1.1 203 Odd\r\nContent-Length: 2\r\n\r\n{}"), status: 203, body: `^{}$`},
		{do: bmctest.LongError(0, 50), status: 500, body: `^\{"Name":"A*"\}$`},
		{do: bmctest.Echo(0), status: 500, body: `Authorization: Basic YWRtaW46Ym1jdGVzdC1wYXNzd29yZA==`},
		{do: bmctest.WithoutHeader("ETag"), status: 200, header: "ETag", want: "", body: `"PowerState"`},
		{do: bmctest.WithoutBody(), status: 200, header: "Content-Type", want: "", body: `^$`},
		{do: bmctest.Members(3), status: 200, body: `"PowerState":"Off"`},
		{do: bmctest.Effect{}, status: 200, body: `"PowerState":"Off"`},
	}
	for _, tt := range tests {
		t.Run(tt.do.String(), func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{})
			bmc.AddFault(bmctest.Fault{Do: tt.do})
			client := bmc.Client()
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+bmc.Addr+system, nil)
			require.NoError(t, err)
			r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
			resp, err := client.Do(r)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, tt.status, resp.StatusCode)
			require.Regexp(t, tt.body, string(body))
			if tt.header != "" {
				require.Equal(t, tt.want, resp.Header.Get(tt.header))
			}
		})
	}
}

func TestSlowEffectsTakeTheirTime(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Times: 1, Do: bmctest.Delay(100 * time.Millisecond)})
	start := time.Now()
	ask(t, bmc, http.MethodGet, "/redfish", "")
	require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)

	bmc.AddFault(bmctest.Fault{Times: 1, Do: bmctest.Drip(time.Millisecond)})
	start = time.Now()
	require.Equal(t, 200, ask(t, bmc, http.MethodGet, "/redfish", "").StatusCode)
	require.GreaterOrEqual(t, time.Since(start), 150*time.Millisecond, "the header alone has more than 150 bytes")
}

func TestGarbageIsNotHTTP(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Do: bmctest.Garbage()})
	_, err := bmc.Client().Get(bmc.URL)
	require.ErrorContains(t, err, "malformed HTTP")
}

func TestRedirectLoopNeverEnds(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Do: bmctest.RedirectLoop()})
	_, err := bmc.Client().Get(bmc.URL)
	require.ErrorContains(t, err, "stopped after 10 redirects")
}

func TestEndlessBodyGoesOnUntilClose(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Do: bmctest.EndlessBody()})
	resp, err := bmc.Client().Get(bmc.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.CopyN(io.Discard, resp.Body, 4<<20)
	require.NoError(t, err)
	require.NoError(t, bmc.Close())
	_, err = io.Copy(io.Discard, resp.Body)
	require.Error(t, err)
}

func TestPortFaults(t *testing.T) {
	tests := []struct {
		do    bmctest.Effect
		limit time.Duration // of a request; 0 for none
		check func(t *testing.T, bmc *bmctest.Redfish, err error)
	}{
		{bmctest.Refuse(), 0, func(t *testing.T, _ *bmctest.Redfish, err error) {
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}},
		{bmctest.Silent(), 100 * time.Millisecond, func(t *testing.T, _ *bmctest.Redfish, err error) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}},
		{bmctest.PlainHTTP(), 0, func(t *testing.T, bmc *bmctest.Redfish, err error) {
			require.ErrorContains(t, err, "server gave HTTP response to HTTPS client")
			client := bmc.Client()
			resp, err := client.Get("http://" + bmc.Addr + "/redfish/v1/")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode)
		}},
	}
	get := func(t *testing.T, bmc *bmctest.Redfish, limit time.Duration) error {
		client := bmc.Client()
		client.Timeout = limit
		resp, err := client.Get(bmc.URL)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		return err
	}
	for _, tt := range tests {
		t.Run(tt.do.String()+" at once", func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{{Do: tt.do}}})
			addr := bmc.Addr
			tt.check(t, bmc, get(t, bmc, tt.limit))
			require.NoError(t, bmc.ClearFaults())
			require.Equal(t, addr, bmc.Addr)
			require.NoError(t, get(t, bmc, 0))
		})
		t.Run(tt.do.String()+" after a request", func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{})
			bmc.AddFault(bmctest.Fault{On: "/redfish/v1", Skip: 1, Do: tt.do})
			require.NoError(t, get(t, bmc, 0), "this request is spared")
			require.Error(t, get(t, bmc, 0), "this one is reset")
			tt.check(t, bmc, get(t, bmc, tt.limit))
		})
	}
}

func TestRefuseEndsOpenConnections(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{On: system, Do: bmctest.HangAfter(5)})
	c := dialTLS(t, bmc)
	_, err := io.ReadFull(c, make([]byte, 5))
	require.NoError(t, err)
	bmc.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestFaultsStrikeWhatTheyMatch(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{On: system, Method: http.MethodGet, Skip: 1, Times: 2, Do: bmctest.Status(500)})
	var statuses []int
	for range 5 {
		statuses = append(statuses, ask(t, bmc, http.MethodGet, system+"/", "").StatusCode)
		require.Equal(t, 200, ask(t, bmc, http.MethodPatch, system, `{}`).StatusCode)
		require.Equal(t, 200, ask(t, bmc, http.MethodGet, "/redfish", "").StatusCode)
	}
	require.Equal(t, []int{200, 500, 500, 200, 200}, statuses)

	asked := 0
	bmc.AddFault(bmctest.Fault{Skip: 1, Do: bmctest.Status(500), If: func(r *http.Request) bool { asked++; return r.URL.Path == system }})
	for _, want := range []int{200, 500, 500} {
		require.Equal(t, want, ask(t, bmc, http.MethodGet, system, "").StatusCode)
	}
	require.Equal(t, 200, ask(t, bmc, http.MethodGet, "/redfish", "").StatusCode)
	require.Equal(t, 3, asked, "not for the request that was skipped")

	require.NoError(t, bmc.ClearFaults())
	bmc.AddFault(bmctest.Fault{Times: 1, Do: bmctest.Status(500), If: func(r *http.Request) bool { return r.URL.Path == system }})
	require.Equal(t, 200, ask(t, bmc, http.MethodGet, "/redfish", "").StatusCode, "one that does not fail")
	for _, want := range []int{500, 200} {
		require.Equal(t, want, ask(t, bmc, http.MethodGet, system, "").StatusCode, "is none of Times")
	}

	require.NoError(t, bmc.ClearFaults())
	bmc.AddFault(bmctest.Fault{Do: bmctest.Status(502)})
	bmc.AddFault(bmctest.Fault{Do: bmctest.Status(503)})
	require.Equal(t, 502, ask(t, bmc, http.MethodGet, system, "").StatusCode, "the first that was set")
	require.NoError(t, bmc.ClearFaults())
	require.Equal(t, 200, ask(t, bmc, http.MethodGet, system, "").StatusCode)
}

func TestEffectReadsAsWritten(t *testing.T) {
	require.Equal(t, "nothing", bmctest.Effect{}.String())
	require.Equal(t, "HangAfter(120)", bmctest.HangAfter(120).String())
	require.Equal(t, `Property("PowerState", <nil>)`, bmctest.Property("PowerState", nil).String())
}

func TestCloseEndsWhatHangs(t *testing.T) {
	for _, do := range []bmctest.Effect{
		bmctest.HangAfter(0), bmctest.Delay(time.Hour), bmctest.Drip(time.Hour), bmctest.EndlessBody(),
	} {
		t.Run(do.String(), func(t *testing.T) {
			asked := make(chan struct{})
			bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{
				{Do: do, If: func(*http.Request) bool { close(asked); return true }},
			}})
			dialTLS(t, bmc)
			<-asked
			require.NoError(t, bmc.Close())
			require.NoError(t, bmc.Close(), "a second time")
			require.NoError(t, bmc.ClearFaults(), "of a BMC that is closed")
		})
	}
}

func TestNoEffectIsListedTwice(t *testing.T) {
	names := map[string]bool{}
	for _, do := range bmctest.Effects() {
		require.False(t, names[do.String()], "%v", do)
		names[do.String()] = true
	}
}

// unbearable matches the effects with which bmclib alone hangs or crashes the process:
// gofish 0.20.0 has no bounds, dereferences nil and races. Package bmc's tests go
// through them.
var unbearable = regexp.MustCompile(`^(Body|Members|Property\("Members)`)

func TestBmclibMeetsEveryEffectThatItCanBear(t *testing.T) {
	t.Parallel()
	for _, do := range bmctest.Effects() {
		if unbearable.MatchString(do.String()) {
			continue
		}
		t.Run(do.String(), func(t *testing.T) {
			t.Parallel()
			bmc := newRedfish(t, bmctest.RedfishConfig{})
			bmc.AddFault(bmctest.Fault{Do: do})
			short, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			defer cancel()
			_ = getPower(short, bmc)
			require.NoError(t, bmc.ClearFaults())
			require.NoError(t, getPower(t.Context(), bmc))
		})
	}
}

func getPower(ctx context.Context, bmc *bmctest.Redfish) error {
	client := dial(bmc, bmctest.DefaultPassword)
	if err := client.Open(ctx); err != nil {
		return err
	}
	_, err := client.GetPowerState(ctx)
	return errors.Join(err, client.Close(ctx))
}
