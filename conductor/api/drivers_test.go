// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// cluster is the membership of a conductor whose other members never change.
type cluster []conductor.Member

func (others cluster) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if yield(append([]conductor.Member{self}, others...), nil) {
			<-ctx.Done()
		}
	}
}

func (cluster) Alive(context.Context, string) (bool, error) { return true, nil }

func (cluster) Holds(string) bool { return true }

// startCluster serves the API of the conductor "m" of the group "x", whose members are also "c", "z" and "a".
func startCluster(t *testing.T, set ...func(*conductor.Config)) *server {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	config := conductor.Config{
		Store: &conductor.Memory{}, Name: "m", Group: "x", Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
		Membership: cluster{
			{ID: "1", Hostname: "c", Group: "b", Drivers: []string{"ipmi"}, CreatedAt: day(2)},
			{ID: "2", Hostname: "z", Group: "c", Drivers: []string{"ipmi"}, CreatedAt: day(1)},
			{ID: "3", Hostname: "a", Group: "a", Drivers: []string{"redfish"}, CreatedAt: day(3)},
		},
	}
	for _, s := range set {
		s(&config)
	}
	c, err := conductor.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	require.NoError(t, c.Ready(ctx))
	return &server{t: t, conductor: c, Handler: api.New(c, api.Config{})}
}

// values returns a field of each object in a list.
func (a reply) values(list, field string) (values []any) {
	a.t.Helper()
	for _, item := range a.must(http.StatusOK)[list].([]any) {
		values = append(values, item.(map[string]any)[field])
	}
	return values
}

func TestConductorsAreListedInPages(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	for query, want := range map[string]string{
		"":                                 "a c m z",
		"?sort_key=id&sort_dir=desc":       "z m c a",
		"?sort_key=hostname":               "a c m z",
		"?sort_key=hostname&sort_dir=desc": "z m c a",
		"?sort_key=conductor_group":        "a c z m",
		"?sort_key=created_at":             "z c a m",
		"?sort_key=updated_at":             "a c m z",
		"?limit=2":                         "a c",
		"?marker=c":                        "m z",
		"?marker=c&limit=2&fields=hostname,links": "m z",
		"?sort_key=created_at&marker=c&limit=1":   "a",
		"?marker=z":                               "",
		"?marker=z&fields=links":                  "",
	} {
		var got []string
		for _, name := range s.do("GET", "/v1/conductors"+query, "latest", "").values("conductors", "hostname") {
			got = append(got, name.(string))
		}
		require.Equal(t, want, strings.Join(got, " "), query)
	}
	next := func(query string) any {
		return s.do("GET", "/v1/conductors"+query, "latest", "").must(http.StatusOK)["next"]
	}
	require.Nil(t, next(""))
	require.Equal(t, "http://HOST/v1/conductors?sort_key=id&sort_dir=asc&fields=hostname,conductor_group,alive&limit=2&marker=c",
		next("?limit=2"))
	require.Equal(t, "http://HOST/v1/conductors?sort_key=hostname&sort_dir=asc&detail=True&limit=1&marker=a",
		next("?limit=1&detail=true&sort_key=hostname"))
	const noField = "Schema error: 'nonsense' is not one of " +
		"['alive', 'conductor_group', 'created_at', 'drivers', 'hostname', 'links', 'updated_at']"
	for query, fault := range map[string]string{
		"?marker=nonsense":             "Conductor nonsense could not be found.",
		"?sort_key=alive":              "The sort_key value alive is an invalid field for sorting",
		"?sort_key=drivers":            "The sort_key value drivers is an invalid field for sorting",
		"?sort_key=nonsense":           `The sort_key value "nonsense" is an invalid field for sorting`,
		"?limit=-1":                    "Limit must be positive",
		"?fields=nonsense&detail=true": noField,
		"?sort_dir=up":                 "Schema error: 'up' is not one of ['asc', 'desc']",
		"?marker=&limit=x":             "Missing host in marker",
		"?marker=:&fields=x":           "marker: invalid literal for int() with base 10: ''",
		"?fields=hostname&detail=true": "Can not specify ?detail=True and fields in the same request.",
		"/a%20b":                       "Conductor a b could not be found.",
		"/a%20b?nonsense=1":            "Unexpected arguments: nonsense",
		"/b":                           "Conductor b could not be found.",
		"/b?fields=nonsense":           noField,
	} {
		require.Equal(t, fault, s.do("GET", "/v1/conductors"+query, "latest", "").fault(), query)
	}
	old := start(t, states.Gazpacho, api.Config{})
	for query, fault := range map[string]string{
		"?fields=nonsense":          `Field(s) "nonsense" are not valid`,
		"?sort_dir=up":              "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'",
		"/testhost?fields=nonsense": `Field(s) "nonsense" are not valid`,
	} {
		require.Equal(t, fault, old.do("GET", "/v1/conductors"+query, "latest", "").fault(), query)
	}
	require.Equal(t, "b", s.do("GET", "/v1/conductors/c", "latest", "").must(http.StatusOK)["conductor_group"])
}

func TestADriverHasTheConductorsThatSupportIt(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	all := s.do("GET", "/v1/drivers", "latest", "")
	require.Equal(t, []any{"fake-hardware", "ipmi", "redfish"}, all.values("drivers", "name"))
	require.Equal(t, []any{[]any{"m"}, []any{"c", "z"}, []any{"a"}}, all.values("drivers", "hosts"))
	require.Equal(t, []any{"c", "z"}, s.do("GET", "/v1/drivers/ipmi", "latest", "").must(http.StatusOK)["hosts"])
}

func TestADriverHasTheFieldsOfTheVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	fields := map[states.APIVersion]string{1: "hosts links name", 14: "properties", 30: "type"}
	for kind, v := range map[string]states.APIVersion{
		"boot": 30, "console": 30, "deploy": 30, "inspect": 30, "management": 30, "network": 30, "power": 30, "raid": 30, "vendor": 30,
		"storage": 33, "rescue": 38, "bios": 40, "firmware": 86,
	} {
		fields[v] += " default_" + kind + "_interface enabled_" + kind + "_interfaces"
	}
	var want []string
	for v := states.APIVersion(1); v <= 87; v++ {
		want = append(want, strings.Fields(fields[v])...)
		require.ElementsMatch(t, want, keysOf(s.do("GET", "/v1/drivers/fake-hardware", v.String(), "").must(http.StatusOK)), "version %v", v)
	}
	require.Equal(t, []any{"fake", "fake"}, s.do("GET", "/v1/drivers?detail=true", "1.30", "").values("drivers", "default_boot_interface"))
	require.Equal(t, []any{nil, nil}, s.do("GET", "/v1/drivers?detail=false", "1.30", "").values("drivers", "default_boot_interface"))
	require.Equal(t, []any{nil, nil}, s.do("GET", "/v1/drivers", "1.30", "").values("drivers", "enabled_boot_interfaces"))
}

func TestTheFieldsOfDriversCanBeChosenSince1_77(t *testing.T) {
	t.Parallel()
	s := startWith(t, states.Gazpacho, api.Config{}, map[string]conductor.Hardware{"plain": &plain{}})
	for _, path := range []string{"/v1/drivers?fields=name", "/v1/drivers/ipmi?fields=name"} {
		require.Equal(t, "Request not acceptable.", s.do("GET", path, "1.76", "").fault())
		require.Equal(t, http.StatusOK, s.do("GET", path, "1.77", "").status)
	}
	chosen := s.do("GET",
		"/v1/drivers/plain?fields=default_bios_interface,enabled_boot_interfaces,default_console_interface,enabled_console_interfaces",
		"latest", "").must(http.StatusOK)
	delete(chosen, "links")
	require.Equal(t, map[string]any{
		"default_bios_interface":     "no-bios",
		"enabled_boot_interfaces":    []any{"ipxe"},
		"default_console_interface":  "no-console",
		"enabled_console_interfaces": []any{"no-console"},
	}, chosen)
	for path, fault := range map[string]string{
		"/v1/drivers?fields=name,nonsense":                `Field(s) "nonsense" are not valid`,
		"/v1/drivers?fields=default_boot_interface":       `Field(s) "default_boot_interface" are not valid`,
		"/v1/drivers?fields=name&detail=true":             "Can not specify ?detail=True and fields in the same request.",
		"/v1/drivers?nonsense=1":                          "Unexpected arguments: nonsense",
		"/v1/drivers/plain?nonsense=1":                    "Unexpected arguments: nonsense",
		"/v1/drivers/plain?fields=default_nonsense":       `Field(s) "default_nonsense" are not valid`,
		"/v1/drivers/plain?fields=enabled_boot_interface": `Field(s) "enabled_boot_interface" are not valid`,
	} {
		require.Equal(t, fault, s.do("GET", path, "latest", "").fault(), path)
	}
	require.Empty(t, s.do("GET", "/v1/drivers?type=classic&fields=nonsense", "latest", "").values("drivers", "name"))
	require.Len(t, s.do("GET", "/v1/drivers?type=dynamic", "1.30", "").values("drivers", "name"), 3)
	for _, query := range []string{"?type=dynamic", "?detail=false"} {
		require.Equal(t, "Request not acceptable. The minimal required API version should be 1.30",
			s.do("GET", "/v1/drivers"+query, "1.29", "").fault())
		require.Equal(t, http.StatusOK, s.do("GET", "/v1/drivers"+query, "1.30", "").status)
	}
}

func TestADriverWithRAIDDescribesItsLogicalDisks(t *testing.T) {
	t.Parallel()
	s := startWith(t, states.Latest(), api.Config{}, map[string]conductor.Hardware{
		"plain": &plain{}, "without": &described{interfaces: map[string][]string{"raid": {"no-raid", "fake"}}},
	})
	get := func(driver, version string) reply {
		return s.do("GET", "/v1/drivers/"+driver+"/raid/logical_disk_properties", version, "")
	}
	require.Equal(t, "Request not acceptable.", get("fake-hardware", "1.11").fault())
	disks := get("fake-hardware", "1.12").must(http.StatusOK)
	require.Len(t, disks, 10)
	require.Contains(t, disks["raid_level"], "Required")
	for driver, fault := range map[string]string{
		"plain":   "Driver plain does not support raid (disabled or not implemented).",
		"without": "Driver without does not support raid (disabled or not implemented).",
		"absent":  "The driver 'absent' is unknown.",
	} {
		require.Equal(t, fault, get(driver, "latest").fault())
	}
}

// described is a hardware type with interfaces of its own.
type described struct {
	plain
	interfaces map[string][]string
}

func (d *described) Describe() conductor.Description {
	all := d.plain.Describe()
	maps.Copy(all.Interfaces, d.interfaces)
	return all
}

func TestADriverHasNoMethods(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	const drivers = "/v1/drivers/"
	for _, c := range []struct{ method, path, fault string }{
		{"POST", drivers + "ipmi/vendor_passthru/x", "No handler for method x"},
		{"GET", drivers + "ipmi/vendor_passthru?method=y", "No handler for method y"},
		{"PUT", drivers + "ipmi/vendor_passthru?method=", "Method not specified"},
		{"PUT", drivers + "ipmi/vendor_passthru", "Missing mandatory parameter: method"},
		{"PUT", drivers + "absent/vendor_passthru?method=x", "The driver 'absent' is unknown."},
		{"GET", drivers + "absent/vendor_passthru/methods", "The driver 'absent' is unknown."},
	} {
		require.Equal(t, c.fault, s.do(c.method, c.path, "latest", "").fault(), "%s %s", c.method, c.path)
	}
}

func TestAConductorThatHasNotStartedDoesNotSayThatThereIsNoDriver(t *testing.T) {
	t.Parallel()
	c, err := conductor.New(conductor.Config{Store: &conductor.Memory{},
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(t, err)
	s := &server{Handler: api.New(c, api.Config{}), t: t}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"drivers", "drivers/fake-hardware", "drivers/fake-hardware/properties", "conductors", "conductors/x"} {
		require.Equal(t, http.StatusServiceUnavailable, s.send(request("GET", "/v1/"+path, "latest", http.NoBody).WithContext(ctx)).status, path)
	}
}

func TestAConductorIsNamedByAHostAndAPortSince2024_1(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Bobcat, states.Caracal} {
		s := start(t, series, api.Config{})
		for host, want := range map[string]string{
			"host:8090":          "Conductor host:8090 could not be found.",
			"[2001:db8::1]:8090": "Conductor [2001:db8::1]:8090 could not be found.",
			"[2001:db8::1]":      "Conductor [2001:db8::1] could not be found.",
			"2001:db8::1":        "Conductor 2001:db8::1 could not be found.",
			"host:x":             "hostname: invalid literal for int() with base 10: 'x'",
			":8090":              "Missing host in hostname",
			"[]:1":               "Missing host in hostname",
		} {
			if series < states.Caracal {
				want = "Expected name for hostname: " + host
			}
			require.Equal(t, want, s.do("GET", "/v1/conductors/"+host, "latest", "").fault(), host)
			if marked := s.do("GET", "/v1/conductors?marker="+host, "latest", ""); series >= states.Caracal {
				require.Equal(t, strings.Replace(want, "hostname", "marker", 1), marked.fault(), host)
			}
		}
	}
}
