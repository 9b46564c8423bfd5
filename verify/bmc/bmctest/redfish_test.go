// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

const (
	system   = "/redfish/v1/Systems/1"
	reset    = system + "/Actions/ComputerSystem.Reset"
	sessions = "/redfish/v1/SessionService/Sessions"
	login    = `{"UserName":"` + bmctest.DefaultUser + `","Password":"` + bmctest.DefaultPassword + `"}`
)

// response is a response that has been read.
type response struct {
	*http.Response
	body []byte
}

// ask sends a request with Basic authentication. Headers are pairs of name and value; an empty Authorization sends
// none.
func ask(t *testing.T, bmc *bmctest.Redfish, method, path, body string, headers ...string) response {
	t.Helper()
	return askOver(t, bmc.Client(), bmc, method, path, body, headers...)
}

// askOver asks with a client.
func askOver(t *testing.T, client *http.Client, bmc *bmctest.Redfish, method, path, body string, headers ...string) response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://"+bmc.Addr+path, strings.NewReader(body))
	require.NoError(t, err)
	r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if r.Header.Get("Authorization") == "" {
		r.Header.Del("Authorization")
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return response{resp, content}
}

// messageID returns the message ID of an error response, without its registry.
func (r response) messageID(t *testing.T) string {
	t.Helper()
	var body struct {
		Error struct {
			Code string
			Info []struct{ MessageID string } `json:"@Message.ExtendedInfo"`
		}
	}
	require.NoError(t, json.Unmarshal(r.body, &body), "body: %s", r.body)
	require.Len(t, body.Error.Info, 1)
	require.Equal(t, body.Error.Code, body.Error.Info[0].MessageID)
	require.Regexp(t, `^(Base\.1\.18|BMCTest\.1\.0)\.[A-Za-z]+$`, body.Error.Code)
	return body.Error.Code[strings.LastIndex(body.Error.Code, ".")+1:]
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, p := range append(bmctest.Profiles(), bmctest.Profile{Name: "none", ManagerID: "bmc"}) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			visitAll(t, p)
		})
	}
}

func visitAll(t *testing.T, p bmctest.Profile) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Profile: p, Systems: []bmctest.System{{ID: "1"}, {ID: "b"}}})
	client := bmc.Client()
	client.Transport.(*http.Transport).DisableKeepAlives = false
	defer client.CloseIdleConnections()
	require.Equal(t, http.StatusCreated, askOver(t, client, bmc, http.MethodPost, sessions, login).StatusCode)
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		r := askOver(t, client, bmc, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, r.StatusCode, path)
		require.Equal(t, "application/json", r.Header.Get("Content-Type"), path)
		require.Equal(t, "4.0", r.Header.Get("OData-Version"), path)
		var body map[string]any
		require.NoError(t, json.Unmarshal(r.body, &body), path)
		tag, _ := body["@odata.etag"].(string)
		tags := map[bmctest.ETags]string{"": r.Header.Get("ETag") + "/", bmctest.WeakETags: "W/" + tag[min(2, len(tag)):] + "/" + tag,
			bmctest.BodyETags: "/" + tag, bmctest.NoETags: "/"}
		require.Equal(t, tags[p.ETags], r.Header.Get("ETag")+"/"+tag, path)
		require.Equal(t, p.ETags == bmctest.NoETags, r.Header.Get("ETag")+tag == "", path)
		require.Equal(t, path, body["@odata.id"])
		require.NotEmpty(t, body["@odata.type"], path)
		require.NotEmpty(t, body["Name"], path)
		for _, link := range linksIn(body) {
			visit(link)
		}
	}
	visit("/redfish/v1/")
	require.Contains(t, seen, "/redfish/v1/Systems/b")
	require.Contains(t, seen, "/redfish/v1/Managers/"+p.ManagerID)
	require.Contains(t, seen, "/redfish/v1/Chassis/1")
	require.Contains(t, seen, sessions+"/1")
}

// linksIn lists the values of all members named @odata.id, except in objects inside a resource.
func linksIn(value any) (links []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if path, ok := member.(string); ok && name == "@odata.id" && !strings.Contains(path, "#") {
				links = append(links, path)
			}
			links = append(links, linksIn(member)...)
		}
	case []any:
		for _, member := range v {
			links = append(links, linksIn(member)...)
		}
	}
	return links
}

const (
	get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete

	anonymous = "Authorization: " // no credentials
)

var requestTests = []struct {
	name, method, path, body, header string
	status                           int
	messageID                        string
}{
	{"versions", get, "/redfish", "", anonymous, 200, ""},
	{"root", get, "/redfish/v1", "", anonymous, 200, ""},
	{"odata", get, "/redfish/v1/odata", "", anonymous, 200, ""},
	{"metadata", get, "/redfish/v1/$metadata", "", anonymous, 200, ""},
	{"head", http.MethodHead, system, "", "", 200, ""},
	{"slash at the end", get, system + "/", "", "", 200, ""},

	{"no credentials", get, system, "", anonymous, 401, "NoValidSession"},
	{"no credentials to nowhere", get, "/etc", "", anonymous, 401, "NoValidSession"},
	{"unknown token", get, system, "", "X-Auth-Token: x", 401, "NoValidSession"},
	{"wrong basic", get, system, "", "Authorization: Basic YTpi", 401, "ResourceAtUriUnauthorized"},
	{"broken basic", get, system, "", "Authorization: Basic !", 401, "NoValidSession"},
	{"nowhere", get, "/redfish/v1/Nothing", "", "", 404, "ResourceMissingAtURI"},
	{"no such system", get, system + "1", "", "", 404, "ResourceMissingAtURI"},
	{"no such session", del, sessions + "/9", "", "", 404, "ResourceMissingAtURI"},
	{"method", del, system, "", "", 405, "OperationNotAllowed"},
	{"unknown method", "BREW", system, "", "", 405, "OperationNotAllowed"},
	{"OData version", get, system, "", "OData-Version: 3.0", 412, "HeaderInvalid"},
	{"long body", post, reset, strings.Repeat(" ", 1<<17), "", 413, "PayloadTooLarge"},

	{"login", post, sessions, login, anonymous, 201, ""},
	{"login without name", post, sessions, `{"Password":"p"}`, "", 400, "PropertyMissing"},
	{"login without password", post, sessions, `{"UserName":"u"}`, "", 400, "PropertyMissing"},
	{"login with null", post, sessions, `{"UserName":null,"Password":null}`, "", 400, "PropertyMissing"},
	{"login that is no JSON", post, sessions, `{`, "", 400, "MalformedJSON"},
	{"login that is no object", post, sessions, `null`, "", 400, "MalformedJSON"},
	{"wrong login", post, sessions, `{"UserName":"admin","Password":"p"}`, "", 401, "ResourceAtUriUnauthorized"},

	{"reset without type", post, reset, `{}`, "", 400, "ActionParameterMissing"},
	{"reset of unknown type", post, reset, `{"ResetType":"Explode"}`, "", 400, "ActionParameterValueNotInList"},
	{"reset of odd type", post, reset, `{"ResetType":{}}`, "", 400, "ActionParameterValueNotInList"},
	{"reset that is no JSON", post, reset, `On`, "", 400, "MalformedJSON"},
	{"restart while off", post, reset, `{"ResetType":"ForceRestart"}`, "", 409, "SystemPoweredOff"},
	{"reset with old ETag", post, reset, `{"ResetType":"On"}`, `If-Match: "old"`, 412, "PreconditionFailed"},

	{"boot", patch, system, `{"Boot":{"BootSourceOverrideTarget":"Cd"}}`, "", 200, ""},
	{"boot from any ETag", patch, system, `{"Boot":{"BootSourceOverrideTarget":"Cd"}}`, "If-Match: *", 200, ""},
	{"boot from nothing known", patch, system, `{"Boot":{"BootSourceOverrideTarget":"Cloud"}}`, "", 400, "PropertyValueNotInList"},
	{"boot that is no object", patch, system, `{"Boot":"Cd"}`, "", 400, "PropertyValueTypeError"},
	{"unknown property", patch, system, `{"Color":"red"}`, "", 400, "PropertyUnknown"},
	{"unknown boot property", patch, system, `{"Boot":{"Color":"red"}}`, "", 400, "PropertyUnknown"},
	{"patch with old ETag", patch, system, `{}`, `If-Match: "old"`, 412, "PreconditionFailed"},
}

func TestRequests(t *testing.T) {
	for _, tt := range requestTests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{})
			var headers []string
			if name, value, ok := strings.Cut(tt.header, ": "); ok {
				headers = []string{name, value}
			}
			r := ask(t, bmc, tt.method, tt.path, tt.body, headers...)
			require.Equal(t, tt.status, r.StatusCode, "body: %s", r.body)
			require.Equal(t, "4.0", r.Header.Get("OData-Version"))
			if tt.messageID != "" {
				require.Equal(t, tt.messageID, r.messageID(t))
			}
			require.Equal(t, tt.status == 401, r.Header.Get("WWW-Authenticate") != "")
			read := tt.method == get || tt.method == http.MethodHead
			require.Equal(t, tt.status == 405 || tt.status == 200 && read, r.Header.Get("Allow") != "")
			require.Equal(t, []bmctest.Request{{Method: tt.method, Path: tt.path, Status: tt.status}}, bmc.Requests())
		})
	}
}

func TestResetChangesPower(t *testing.T) {
	tests := []struct {
		reset, before, after string
		status               int
	}{
		{"On", "Off", "On", 204},
		{"On", "On", "On", 204},
		{"ForceOff", "On", "Off", 204},
		{"ForceOff", "Off", "Off", 204},
		{"ForceOff", "Paused", "Off", 204},
		{"GracefulShutdown", "On", "Off", 204},
		{"GracefulRestart", "On", "On", 204},
		{"GracefulRestart", "Off", "Off", 409},
		{"ForceRestart", "On", "On", 204},
		{"ForceRestart", "Off", "Off", 409},
		{"PowerCycle", "On", "On", 204},
		{"PowerCycle", "Off", "Off", 409},
		{"PushPowerButton", "On", "Off", 204},
		{"PushPowerButton", "Off", "On", 204},
		{"Nmi", "On", "On", 204},
		{"Nmi", "Off", "Off", 409},
	}
	for _, tt := range tests {
		t.Run(tt.reset+" from "+tt.before, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: tt.before}}})
			r := ask(t, bmc, http.MethodPost, reset, `{"ResetType":"`+tt.reset+`"}`)
			require.Equal(t, tt.status, r.StatusCode, "body: %s", r.body)
			require.Equal(t, tt.after, bmc.Power("1"))
		})
	}
}

func TestPowerDelay(t *testing.T) {
	for _, tt := range []struct{ reset, before, during, after string }{
		{"On", "Off", "PoweringOn", "On"},
		{"ForceOff", "On", "PoweringOff", "Off"},
	} {
		power := func(delay time.Duration) func() string {
			systems := []bmctest.System{{ID: "1", Power: tt.before}}
			bmc := newRedfish(t, bmctest.RedfishConfig{PowerDelay: delay, Systems: systems})
			ask(t, bmc, http.MethodPost, reset, `{"ResetType":"`+tt.reset+`"}`)
			return func() string { return bmc.Power("1") }
		}
		slow, quick := power(time.Hour), power(time.Millisecond)
		require.Equal(t, tt.during, slow())
		for quick() == tt.during { // for a millisecond
			runtime.Gosched()
		}
		require.Equal(t, tt.after, quick())
	}
}

func TestETagFollowsTheResource(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	tag := ask(t, bmc, http.MethodGet, system, "").Header.Get("ETag")
	require.Equal(t, tag, ask(t, bmc, http.MethodGet, system, "").Header.Get("ETag"))
	const body = `{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`
	require.Equal(t, 200, ask(t, bmc, http.MethodPatch, system, body, "If-Match", `"other", `+tag).StatusCode)
	require.Equal(t, 412, ask(t, bmc, http.MethodPatch, system, body, "If-Match", tag).StatusCode)
	tag = ask(t, bmc, http.MethodGet, system, "").Header.Get("ETag")
	require.Equal(t, 204, ask(t, bmc, http.MethodPost, reset, `{"ResetType":"On"}`, "If-Match", tag).StatusCode)
	require.Equal(t, "None Disabled UEFI", bmc.Boot("1"))
}

func TestPowerBehindClientsBacks(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	require.NoError(t, bmc.SetPower("1", "Paused"))
	require.Contains(t, string(ask(t, bmc, http.MethodGet, system, "").body), `"PowerState":"Paused"`)
	require.ErrorContains(t, bmc.SetPower("2", "On"), `no system "2"`)
	require.Empty(t, bmc.Power("2"))
	require.Zero(t, bmc.Boot("2"))
}

func TestCertificateIsWhatTheMethodsSay(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	c, err := tls.Dial("tcp", bmc.Addr, &tls.Config{RootCAs: bmc.CertPool, ServerName: "localhost"})
	require.NoError(t, err)
	defer c.Close()
	leaf := c.ConnectionState().PeerCertificates[0]
	require.Equal(t, sha256.Sum256(leaf.Raw), bmc.Fingerprint)
	block, rest := pem.Decode(bmc.CAPEM)
	require.Equal(t, "CERTIFICATE", block.Type)
	require.Empty(t, rest)
	require.NotEqual(t, leaf.Raw, block.Bytes)
}

func TestNewRedfishRefusesBadConfig(t *testing.T) {
	tests := []struct {
		name   string
		config bmctest.RedfishConfig
		want   string
	}{
		{"address", bmctest.RedfishConfig{Addr: "127.0.0.1:none"}, "listen on 127.0.0.1:none"},
		{"no name", bmctest.RedfishConfig{Users: map[string]secret.Text{"": secret.New("p")}}, `Users is "": want names`},
		{"colon", bmctest.RedfishConfig{Users: map[string]secret.Text{"a:b": secret.New("p")}}, "want names without a colon"},
		{"no password", bmctest.RedfishConfig{Users: map[string]secret.Text{"a": secret.New("")}}, `Users is "a": want a password`},
		{"no ID twice", bmctest.RedfishConfig{Systems: []bmctest.System{{}, {}}}, `Systems.ID is "1"`},
		{"slash in ID", bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "a/b"}}}, `Systems.ID is "a/b"`},
		{"dots", bmctest.RedfishConfig{Systems: []bmctest.System{{ID: ".."}}}, `Systems.ID is ".."`},
		{"same ID", bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "a"}, {ID: "a"}}}, `Systems.ID is "a"`},
		{"certificate", bmctest.RedfishConfig{Certificate: "odd"}, `Certificate is "odd": want one of ["expired"`},
		{"LockAfter", bmctest.RedfishConfig{LockAfter: -1}, "LockAfter is -1: want 0 or more"},
		{"PowerDelay", bmctest.RedfishConfig{PowerDelay: -1}, "PowerDelay is -1: want 0 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc, err := bmctest.NewRedfish(tt.config)
			require.Nil(t, bmc)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestRedfishMayBeShared(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	effects := []bmctest.Effect{bmctest.Refuse(), bmctest.Silent(), bmctest.HangAfter(3), bmctest.Status(500)}
	var wg sync.WaitGroup
	half := make(chan struct{}, len(effects))
	for i := range effects {
		wg.Go(func() {
			client := bmc.Client()
			client.Timeout = 200 * time.Millisecond // the result does not matter
			for round := range 20 {
				if round == 10 {
					half <- struct{}{}
				}
				bmc.AddFault(bmctest.Fault{Do: effects[i], Times: 1})
				if resp, err := client.Get(bmc.URL); err == nil {
					resp.Body.Close()
				}
				assert.NoError(t, bmc.SetPower("1", "On"))
				assert.NoError(t, bmc.ClearFaults())
				_, _, _, _ = bmc.Power("1"), bmc.Boot("1"), bmc.Sessions(), bmc.Logins()
				_ = bmc.Requests()
			}
		})
	}
	wg.Go(func() {
		<-half
		assert.NoError(t, bmc.Close(), "while others use it")
	})
	wg.Wait()
}
