// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestTheFirstPortOfAGroupIsInItsPhysicalNetworkSince2026_1(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Flamingo, states.Gazpacho} {
		s := start(t, series, api.Config{})
		node := s.create(`{"driver": "fake-hardware"}`)
		for i, c := range []struct {
			group, port string
			refused     bool
		}{{`"a"`, `"b"`, true}, {`"a"`, `null`, true}, {`"a"`, `"a"`, false}, {`null`, `"b"`, false}} {
			o, err := s.conductor.CreateObject(t.Context(), &conductor.PortGroup{
				ObjectMeta: conductor.ObjectMeta{NodeUUID: node}, PhysicalNetwork: strings.Trim(strings.TrimPrefix(c.group, "null"), `"`),
			})
			require.NoError(t, err)
			a := s.do("POST", "/v1/ports", "latest", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:0`+string(rune('0'+i))+
				`", "physical_network": `+c.port+`, "portgroup_uuid": "`+o.Meta().UUID+`"}`)
			if !c.refused || series < states.Gazpacho {
				require.Equal(t, http.StatusCreated, a.status, a.body)
				continue
			}
			require.Equal(t, http.StatusConflict, a.status)
			require.Contains(t, a.fault(), "which has ports in physical network a.")
		}
	}
}

// members is a server with a port group and the ports p and q, whose physical networks are shared.
type members struct {
	*server
	group string // its UUID
}

func startMembers(t *testing.T, series states.Series, network string) members {
	s := start(t, series, api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	group := s.do("POST", "/v1/portgroups", "latest", `{"node_uuid": "`+node+`", "name": "g"}`).must(http.StatusCreated)["uuid"].(string)
	for i, name := range []string{"p", "q"} {
		s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:0`+string(rune('1'+i))+`", "name": "`+name+
			`", "portgroup_uuid": "`+group+`", "physical_network": `+network+`}`)
	}
	return members{s, group}
}

func (m members) patch(path, version, operations string) reply {
	return m.do("PATCH", "/v1/"+path, version, "["+operations+"]")
}

// networks returns the physical networks of the group and its ports.
func (m members) networks() []any {
	group := m.do("GET", "/v1/portgroups/g", "latest", "").must(http.StatusOK)["physical_network"]
	return append([]any{group}, m.do("GET", "/v1/ports?fields=physical_network", "latest", "").values("ports", "physical_network")...)
}

const setNetwork = `{"op": "replace", "path": "/physical_network", "value": "b"}`

// The answers were given by Ironic 35.0.1 and 39.0.0.
func TestThePhysicalNetworkOfAPortInAGroupStaysSince2026_1(t *testing.T) {
	t.Parallel()
	const kept = "physical_network cannot be changed while the port belongs to a portgroup."
	for _, c := range []struct {
		series                     states.Series
		version, operations, fault string
	}{
		{states.Gazpacho, "1.102", setNetwork, kept},
		{states.Gazpacho, "1.102", `{"op": "remove", "path": "/physical_network"}`, kept},
		{states.Gazpacho, "1.102", setNetwork + `, {"op": "remove", "path": "/portgroup_uuid"}`, kept},
		{states.Gazpacho, "1.102", `{"op": "add", "path": "/extra/a", "value": 1}, ` + setNetwork, "has ports in physical network a."},
		{states.Gazpacho, "1.101", setNetwork, "has ports in physical network a."},
		{states.Flamingo, "latest", setNetwork, "has ports in physical network a."},
		{states.Latest(), "latest", setNetwork, kept},
		{states.Latest(), "latest", `{"op": "remove", "path": "/portgroup_uuid"}, ` + setNetwork, ""},
	} {
		answer := startMembers(t, c.series, `"a"`).patch("ports/p", c.version, c.operations)
		if c.fault == "" {
			require.Equal(t, "b", answer.must(http.StatusOK)["physical_network"], c.operations)
			continue
		}
		require.Contains(t, answer.fault(), c.fault, "%v %s %s", c.series, c.version, c.operations)
	}
}

// The answers were given by Ironic 35.0.1 and 39.0.0.
func TestAPortGroupSetsItsPortsPhysicalNetworkSince2026_1(t *testing.T) {
	t.Parallel()
	m := startMembers(t, states.Gazpacho, `null`)
	other := `, {"op": "add", "path": "/extra/a", "value": 1}`
	for _, c := range []struct {
		version, operations string
		want                []any
	}{
		{"1.102", setNetwork + other, []any{"b", "b", "b"}},
		{"1.102", other[2:] + strings.ReplaceAll(", "+setNetwork, `"b"`, `"c"`), []any{"c", "b", "b"}},
		{"1.101", setNetwork + strings.ReplaceAll(", "+setNetwork, `"b"`, `"d"`), []any{"b", "b", "b"}},
		{"1.102", `{"op": "replace", "path": "/physical_network", "value": ""}`, []any{"", "", ""}},
		{"1.102", setNetwork, []any{"b", "b", "b"}},
		{"1.102", `{"op": "replace", "path": "/physical_network", "value": null}`, []any{nil, nil, nil}},
	} {
		m.patch("portgroups/g", c.version, c.operations).must(http.StatusOK)
		require.Equal(t, c.want, m.networks(), c.operations)
		m.patch("ports/p", "1.102", other[2:]).must(http.StatusOK) // also if the network is ""
	}
	const remove = `{"op": "remove", "path": "/physical_network"}`
	m.patch("portgroups/g", "latest", remove+", "+strings.Replace(setNetwork, "replace", "add", 1)).must(http.StatusOK)
	require.Equal(t, []any{"b", "b", "b"}, m.networks(), "by the source, the network that is named first is set")
	m.patch("portgroups/g", "latest", setNetwork+", "+remove).must(http.StatusOK)
	require.Equal(t, []any{"b", "b", "b"}, m.networks())
	m.patch("portgroups/g", "latest", remove).must(http.StatusOK)
	require.Equal(t, []any{nil, nil, nil}, m.networks(), "Ironic fails")
}

// The answers were given by Ironic 35.0.1 and 39.0.0.
func TestAGroupGetsThePhysicalNetworkOfItsFirstPortSince2026_2(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]any{states.Gazpacho: nil, states.Hibiscus: "a"} {
		m := startMembers(t, series, `"a"`)
		require.Equal(t, []any{want, "a", "a"}, m.networks(), series)
		m.patch("ports/p", "latest", `{"op": "remove", "path": "/portgroup_uuid"}`).must(http.StatusOK)
		m.patch("ports/q", "latest", `{"op": "remove", "path": "/portgroup_uuid"}`).must(http.StatusOK)
		m.patch("ports/p", "latest", setNetwork).must(http.StatusOK)
		joins := m.patch("ports/p", "latest", `{"op": "add", "path": "/portgroup_uuid", "value": "`+m.group+`"}`)
		require.Equal(t, want != nil, joins.status == http.StatusConflict, joins.body)

		m = startMembers(t, series, `null`)
		require.Equal(t, []any{nil, nil, nil}, m.networks(), series)
	}
}

// The answers were given by Ironic 35.0.1 and 39.0.0.
func TestTheLaterFieldsOfAPortGroupMayBeNamedEarlierExceptOne(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Gazpacho, states.Latest()} {
		m := startMembers(t, series, `null`)
		for name, want := range map[string]int{
			"category": http.StatusOK, "physical_network": http.StatusOK, "dynamic_portgroup": http.StatusNotAcceptable,
		} {
			for _, query := range []string{"?fields=", "/g?fields=", "?sort_key="} {
				require.Equal(t, want, m.do("GET", "/v1/portgroups"+query+name, "1.77", "").status, "%v %s%s", series, query, name)
			}
		}
	}
}
