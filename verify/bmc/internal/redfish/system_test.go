// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
)

func TestTheRootNamesTheCollections(t *testing.T) {
	const systems = `{"Systems": {"@odata.id": "/s"}`
	for _, test := range []struct {
		root              string
		systems, sessions string
		err               string // empty for none
	}{
		{systems + `}`, "/s", "", ""},
		{systems + `, "Links": {}}`, "/s", "", ""},
		{systems + `, "SessionService": {}}`, "/s", "", ""},
		{systems + `, "Links": {"Sessions": {"@odata.id": "/x"}}, "SessionService": {"@odata.id": "/service"}}`, "/s", "/x", ""},
		{systems + `, "SessionService": {"@odata.id": "/service"}}`, "/s", "/service/Sessions", ""},
		{`{"Systems": {"@odata.id": "a"}, "Links": {"Sessions": {"@odata.id": "b"}}}`, "/redfish/v1/a", "/redfish/v1/b", ""},
		{`{}`, "", "", "the service has no systems"},
		{`{"Systems": {}}`, "", "", "the service has no systems"},
		{`{"Systems": 7}`, "", "", "the property Systems"},
		{`{"Systems": {"@odata.id": "https://other/"}}`, "", "", "another host"},
		{systems + `, "Links": 7}`, "/s", "", "the property Links"},
		{systems + `, "Links": {"Sessions": 7}}`, "/s", "", "the property Sessions"},
		{systems + `, "Links": {"Sessions": {"@odata.id": "https://other/"}}}`, "/s", "", "another host"},
		{systems + `, "SessionService": 7}`, "/s", "", "the property SessionService"},
		{`[]`, "", "", "cannot unmarshal"},
	} {
		c := start(t, resources(map[string]string{Root: test.root})).client()
		defer c.Close(t.Context())
		a, err := c.ReadRoot(t.Context())
		require.Equal(t, test.systems, c.systems, test.root)
		require.Equal(t, test.sessions, c.sessions, test.root)
		if test.err == "" {
			require.NoError(t, err, test.root)
			require.Equal(t, http.StatusOK, a.Status)
			continue
		}
		require.ErrorContains(t, err, test.err, test.root)
		require.Contains(t, []verify.Kind{verify.Protocol, verify.Unsupported}, kindOf(t, err))
	}
}

// systems answers as a BMC with three systems, of which the first cannot be read by its client.
func systems(first http.HandlerFunc) http.HandlerFunc {
	read := resources(map[string]string{
		Root:    `{"Systems": {"@odata.id": "/s"}}`,
		"/s":    `{"Members": [{"@odata.id": "/s/1"}, {"@odata.id": "/s/2"}, {"@odata.id": "/s/3"}]}`,
		"/s/2":  `{"Name": 7}`,
		"/s/3":  `{"Name": "right"}`,
		"/one":  `{"Members": [{"@odata.id": "/s/3"}]}`,
		"/none": `{"Members": []}`,
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/s/1" {
			first(w, r)
			return
		}
		read(w, r)
	}
}

func TestTheSystemIsTheOneThatTheConfigSelects(t *testing.T) {
	of := func(collection, id, name string) *Config {
		return &Config{BasePath: collection, SystemID: id, SystemName: name}
	}
	nameless := func(w http.ResponseWriter, _ *http.Request) { object(w, "{}") }
	for _, test := range []struct {
		config *Config // BasePath is the collection of systems
		first  http.HandlerFunc
		want   string
		err    string // empty for none
		reads  int    // requests
	}{
		{of("/one", "", ""), status(404), "/s/3", "", 1},
		{of("/none", "", ""), status(404), "", "the BMC has 0 systems, and neither SystemID nor SystemName says which is meant", 1},
		{of("/s", "", ""), status(404), "",
			`the BMC has 3 systems, and neither SystemID nor SystemName says which is meant: of ["1" "2" "3"], 0 can be booted and reset`, 4},
		{of("/s", "", ""), status(401), "", "401", 2},
		{of("/s", "", ""), func(w http.ResponseWriter, _ *http.Request) { raw(w, "") }, "", "unexpected EOF", 11},
		{of("/s", "3", ""), status(404), "/s/3", "", 1},
		{of("/s", "4", ""), status(404), "", `none of the BMC's systems has the ID "4"`, 1},
		{of("/s", "3", "left"), status(404), "/s/3", "", 1},
		{of("/s", "", "right"), status(404), "/s/3", "", 4},
		{of("/s", "", "left"), status(404), "", "GET /s/1: 404", 4},
		{of("/s", "", "left"), nameless, "", `none of the BMC's systems has the name "left"`, 4},
		{of("/s", "", "right"), status(401), "", "401", 2},
		{of("/s", "", "right"), func(w http.ResponseWriter, _ *http.Request) { raw(w, "") }, "", "unexpected EOF", 11}, // its limit
		{of("/absent", "", ""), status(404), "", "GET /absent: 404", 1},
	} {
		s := start(t, systems(test.first))
		c := s.client(func(c *Config) { c.SystemID, c.SystemName = test.config.SystemID, test.config.SystemName })
		defer c.Close(t.Context())
		c.systems = test.config.BasePath
		got, err := c.System(t.Context())
		require.Equal(t, test.want, got)
		require.Len(t, s.seen(), test.reads, "%v", test.config)
		if test.err != "" {
			require.ErrorContains(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		got, err = c.System(t.Context())
		require.NoError(t, err)
		require.Equal(t, test.want, got)
		require.Empty(t, s.seen(), "it is found once")
	}
}

// A machine that cannot be read for the moment must not leave its neighbour in its place.
func TestASystemThatCannotBeReadMayBeTheOneThatIsMeant(t *testing.T) {
	const both = `{"Boot": {"BootSourceOverrideTarget": "None"}, "Actions": {"#ComputerSystem.Reset": {"target": "/reset"}}}`
	read := resources(map[string]string{"/s": `{"Members": [{"@odata.id": "/s/1"}, {"@odata.id": "/s/2"}]}`, "/s/2": both})
	for _, test := range []struct {
		status int
		body   string
		meant  bool // whether the system may be meant
		kind   verify.Kind
	}{
		{403, "{}", false, 0},
		{404, "{}", false, 0},
		{501, "{}", false, 0},
		{503, `{"error": {"code": "Ami.1.0.HMCCommuicationFailed"}}`, false, 0}, // a board without power
		{429, "{}", true, verify.Unreachable},
		{500, "{}", true, verify.Protocol},
		{503, "{}", true, verify.Unreachable},
		{200, "[", true, verify.Protocol},
	} {
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/s/1" {
				read(w, r)
				return
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		c := s.client()
		defer c.Close(t.Context())
		c.systems = "/s"
		path, err := c.System(t.Context())
		if !test.meant {
			require.NoError(t, err, "%+v", test)
			require.Equal(t, "/s/2", path)
			continue
		}
		require.Equal(t, test.kind, kindOf(t, err), "%+v: %v", test, err)
		require.ErrorContains(t, err, `neither SystemID nor SystemName says which is meant, and "1" cannot be read: `)
	}
}

func TestOfSeveralSystemsTheOnlyOneThatCanBeBootedAndResetIsMeant(t *testing.T) {
	const (
		none  = `{"Boot": 7, "Actions": 7}`
		boot  = `{"Boot": {"BootSourceOverrideTarget": "None"}}`
		reset = `{"Actions": {"#ComputerSystem.Reset": {"target": "/reset"}}}`
		both  = `{"Boot": {"BootSourceOverrideTarget": "None"}, "Actions": {"#ComputerSystem.Reset": {"target": "/reset"}}}`
	)
	for _, test := range []struct {
		first, second, third string
		want                 string
		err                  string // empty for none
	}{
		{both, none, boot, "/s/1", ""},
		{reset, both, boot, "/s/2", ""},
		{boot, reset, both, "/s/3", ""},
		{boot, reset, none, "", "0 can be booted and reset"},
		{both, reset, both, "", "2 can be booted and reset"},
	} {
		c := start(t, resources(map[string]string{
			"/s":   `{"Members": [{"@odata.id": "/s/1"}, {"@odata.id": "/s/2"}, {"@odata.id": "/s/3"}]}`,
			"/s/1": test.first, "/s/2": test.second, "/s/3": test.third,
		})).client()
		defer c.Close(t.Context())
		c.systems = "/s"
		got, err := c.System(t.Context())
		require.Equal(t, test.want, got, "%+v", test)
		if test.err == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, test.err)
		require.Equal(t, verify.Unsupported, kindOf(t, err))
	}
}

func TestASearchForASystemEndsWithItsContextAndItsLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := start(t, systems(func(w http.ResponseWriter, _ *http.Request) { cancel(); w.WriteHeader(http.StatusNotFound) }))
	c := s.client(func(c *Config) { c.SystemName = "right" })
	defer c.Close(t.Context())
	c.systems = "/s"
	_, err := c.System(ctx)
	require.Error(t, err)
	require.Len(t, s.seen(), 2)

	large := start(t, systems(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		object(w, packed(40_000))
	}))
	c = large.client(func(c *Config) { c.SystemName, c.MaxBytes = "right", 30_000 })
	defer c.Close(t.Context())
	c.systems = "/s"
	_, err = c.System(t.Context())
	require.True(t, errors.Is(err, errBytes), "%v", err)
	require.Len(t, large.seen(), 2)
}
