// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestAConflictNamesTheKeyThatIsTaken(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	path := s.post("/v1/portgroups", `{"node_uuid": "`+node+`", "name": "a", "address": "52:54:00:00:00:01"}`)
	uuid := strings.TrimPrefix(path, "/v1/portgroups/")
	s.post("/v1/portgroups", `{"node_uuid": "`+node+`", "name": "b", "address": "52:54:00:00:00:02"}`)
	for _, name := range []string{`""`, `null`, `null`} {
		s.post("/v1/portgroups", `{"node_uuid": "`+node+`", "name": `+name+`}`)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/portgroups", `{"node_uuid": "` + node + `", "name": "c", "address": "52:54:00:00:00:01"}`,
			"A portgroup with MAC address 52:54:00:00:00:01 already exists."},
		{"POST", "/v1/portgroups", `{"node_uuid": "` + node + `", "name": "a", "address": "52:54:00:00:00:03"}`,
			"A portgroup with name a already exists."},
		{"POST", "/v1/portgroups", `{"node_uuid": "` + node + `", "name": "c", "address": "52:54:00:00:00:03", "uuid": "` + uuid + `"}`,
			"A portgroup with UUID " + uuid + " already exists."},
		{"PATCH", "/v1/portgroups/b", `[{"op": "replace", "path": "/name", "value": "a"}]`, "A portgroup with name a already exists."},
		{"PATCH", "/v1/portgroups/b", `[{"op": "replace", "path": "/address", "value": "52:54:00:00:00:01"}]`,
			"A portgroup with MAC address 52:54:00:00:00:01 already exists."},
		{"POST", "/v1/portgroups", `{"node_uuid": "` + node + `", "name": ""}`, "A portgroup with name  already exists."},
		{"PATCH", "/v1/portgroups/b", `[{"op": "replace", "path": "/name", "value": ""}]`, "A portgroup with name  already exists."},
	} {
		a := s.do(c.method, c.path, "latest", c.body)
		require.Equal(t, http.StatusConflict, a.status, c.body)
		require.Equal(t, c.want, a.fault(), c.body)
	}
}

func TestAPatchThatNamesNoRecordOrNode(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	port := s.post("/v1/ports", `{"node_uuid": "`+s.create(`{"driver": "fake-hardware"}`)+`", "address": "52:54:00:00:00:01"}`)
	const extra = `[{"op": "add", "path": "/extra/a", "value": 1}]`
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chassis/a%20b", extra, "Schema error: 'a b' is not a 'uuid'"},
		{port, `[{"op": "replace", "path": "/node_uuid", "value": "a"}]`,
			"Unable to apply the requested node_uuid 'a'. Requested value was invalid."},
	} {
		require.Equal(t, c.want, s.do("PATCH", c.path, "latest", c.body).fault(), c.path)
	}
}

// Ironics since 2025.1 set the node of the record after they have applied the patch.
func TestAPatchThatRemovesTheNodeOfARecordHasNoEffect(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]int{states.Dalmatian: http.StatusBadRequest, states.Epoxy: http.StatusOK} {
		s := start(t, series, api.Config{})
		node := s.create(`{"driver": "fake-hardware"}`)
		port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`)
		a := s.do("PATCH", port, "latest", `[{"op": "remove", "path": "/node_uuid"}]`)
		require.Equal(t, want, a.status)
		if want == http.StatusOK {
			require.Equal(t, node, a.json()["node_uuid"])
		} else {
			require.Equal(t, "Schema error for patch: 'node_uuid' is a required property", a.fault())
		}
	}
}

func TestAPortGroupBelongsToTheNodeOfItsPorts(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Manageable})
	other := s.have(&conductor.Node{ProvisionState: states.Manageable})
	active := s.have(&conductor.Node{ProvisionState: states.Active})
	group := s.post("/v1/portgroups", `{"node_uuid": "`+node+`"}`)
	uuid := strings.TrimPrefix(group, "/v1/portgroups/")
	port := s.post("/v1/ports", `{"node_uuid": "`+other+`", "address": "52:54:00:00:00:01"}`)
	move := func(to string) string { return `[{"op": "replace", "path": "/node_uuid", "value": "` + to + `"}]` }

	require.Equal(t, "Port can not be added to a portgroup belonging to a different node.",
		s.do("PATCH", port, "latest", `[{"op": "add", "path": "/portgroup_uuid", "value": "`+uuid+`"}]`).fault())
	require.Equal(t, "Portgroup "+uuid+" can not be associated to node "+active+
		" unless the node is in a enroll, inspecting, inspect wait, manageable state or in maintenance mode.",
		s.do("PATCH", group, "latest", move(active)).fault())
	s.do("PATCH", group, "latest", move(other)).must(http.StatusOK)
	s.do("PATCH", port, "latest", `[{"op": "add", "path": "/portgroup_uuid", "value": "`+uuid+`"}]`).must(http.StatusOK)
	const contains = "Cannot complete the requested action because portgroup "
	require.Equal(t, contains+uuid+" contains ports.", s.do("DELETE", group, "latest", "").fault())
	require.Equal(t, contains+"Portgroup "+uuid+" can not be associated with node "+node+" because there are ports associated with this "+
		"portgroup. contains ports.", s.do("PATCH", group, "latest", move(node)).fault())
	s.do("DELETE", port, "latest", "").must(http.StatusNoContent)
	s.do("DELETE", group, "latest", "").must(http.StatusNoContent)
}

// As in Ironic 39.0.0.
func TestAPatchMaySetTheModeOfAPortGroupToNull(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	group := s.post("/v1/portgroups", `{"mode": null, "node_uuid": "`+node+`"}`)
	require.Equal(t, "active-backup", s.do("GET", group, "latest", "").json()["mode"])
	require.Nil(t, s.do("PATCH", group, "latest", `[{"op": "replace", "path": "/mode", "value": null}]`).must(http.StatusOK)["mode"])
	require.Nil(t, s.do("GET", group, "latest", "").json()["mode"])
}

func TestAPortThatMovesToAnotherNodeKeepsItsPortGroup(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Manageable})
	other := s.have(&conductor.Node{ProvisionState: states.Manageable})
	group := s.post("/v1/portgroups", `{"node_uuid": "`+node+`"}`)
	uuid := strings.TrimPrefix(group, "/v1/portgroups/")
	port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01", "portgroup_uuid": "`+uuid+`"}`)
	s.do("PATCH", port, "latest", `[{"op": "replace", "path": "/node_uuid", "value": "`+other+`"}]`).must(http.StatusOK)
	for _, path := range []string{group + "/ports", "/v1/ports?portgroup=" + uuid} {
		require.Equal(t, []any{strings.TrimPrefix(port, "/v1/ports/")}, s.do("GET", path, "latest", "").values("ports", "uuid"), path)
	}
	s.do("DELETE", group, "latest", "").must(http.StatusBadRequest)
}

// unreadable is a store that cannot read the records of nodes by their IDs while fails is set.
type unreadable struct {
	conductor.Memory
	fails atomic.Bool
}

func (s *unreadable) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	if kind == conductor.KindNode && s.fails.Load() {
		return conductor.Record{}, errors.New("the disk is gone")
	}
	return s.Memory.Get(ctx, kind, key)
}

func TestANodeThatCannotBeReadIsNotTheClientsError(t *testing.T) {
	t.Parallel()
	store := &unreadable{}
	c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	require.NoError(t, c.Ready(ctx))
	s := &server{t: t, conductor: c, Handler: api.New(c, api.Config{})}
	port := s.post("/v1/ports", `{"node_uuid": "`+s.create(`{"driver": "fake-hardware"}`)+`", "address": "52:54:00:00:00:01"}`)
	move := `[{"op": "replace", "path": "/node_uuid", "value": "` + absentUUID + `"}]`
	require.Equal(t, "Unable to apply the requested node_uuid '"+absentUUID+"'. Requested value was invalid.",
		s.do("PATCH", port, "latest", move).fault())

	store.fails.Store(true)
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", port, move},
		{"POST", "/v1/ports", `{"node_uuid": "` + absentUUID + `", "address": "52:54:00:00:00:02"}`},
		{"GET", "/v1/nodes/" + absentUUID + "/ports", ""},
		{"GET", "/v1/nodes/" + absentUUID + "/portgroups", ""},
	} {
		a := s.do(c.method, c.path, "latest", c.body)
		require.Equal(t, http.StatusInternalServerError, a.status, "%s %s: %s", c.method, c.path, a.body)
		require.Equal(t, "Internal server error.", a.fault())
	}
}

func TestAnAllocationThatHasANodeIsRenamed(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Active})
	s.do("POST", "/v1/allocations", "latest", `{"node": "`+node+`", "name": "a"}`).must(http.StatusCreated)
	s.waitAllocation("a")
	al := s.do("PATCH", "/v1/allocations/a", "latest", `[{"op": "replace", "path": "/name", "value": "b"}]`).must(http.StatusOK)
	require.Equal(t, []any{"b", node}, []any{al["name"], al["node_uuid"]})
}

func TestARecordOfALockedNodeIsNotDeleted(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOff})
	port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`)
	group := s.post("/v1/portgroups", `{"node_uuid": "`+node+`"}`)
	connector := s.post("/v1/volume/connectors", `{"node_uuid": "`+node+`", "type": "iqn", "connector_id": "a"}`)
	reached, release := s.hold("power on")
	s.do("PUT", "/v1/nodes/"+node+"/states/power", "latest", `{"target": "power on"}`).must(http.StatusAccepted)
	<-reached
	for _, path := range []string{port, group, connector} {
		a := s.do("DELETE", path, "latest", "")
		require.Equal(t, http.StatusConflict, a.status, a.body)
		require.Contains(t, a.fault(), " is locked by host testhost")
		s.do("GET", path, "latest", "").must(http.StatusOK)
	}
	release()
	s.wait(node)
	for _, path := range []string{connector, group, port} {
		s.do("DELETE", path, "latest", "").must(http.StatusNoContent)
	}
}

// The answers were given by Ironic 39.0.0. A path names a port only by a name that it can have in a URL.
func TestAPortHasAnyName(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	at := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01", "name": "a b/c"}`)
	rename := func(path string) reply {
		return s.do("PATCH", path, "latest", `[{"op": "add", "path": "/name", "value": "a ü"}]`)
	}
	require.Equal(t, "a ü", rename(at).must(http.StatusOK)["name"])
	require.Equal(t, "Port "+absentUUID+" could not be found.", rename("/v1/ports/"+absentUUID).fault())
	require.Equal(t, "Expected UUID or name for port_ident: a ü", s.do("GET", "/v1/ports/a%20%C3%BC", "latest", "").fault())
}

func TestADeleteWithABodyHasOnlyArgumentsOfItsPath(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.create(`{"driver": "fake-hardware", "name": "m"}`)
	s.post("/v1/runbooks", runbook)
	for _, c := range []struct{ path, body, fault string }{
		{"nodes", `{"node_ident": 5}`, "Expected UUID or name for node_ident: 5"},
		{"nodes/n", `{"node_ident": "m"}`, "Unexpected arguments: node_ident"},
		{"nodes?node_ident=n", `{"node_ident": "m"}`, "Expected UUID or name for node_ident: ['n', 'm']"},
		{"nodes/n", `{"trait": "n"}`, "Unexpected arguments: trait"},
		{"nodes/n/maintenance", `{"reason": "n"}`, "Unexpected arguments: reason"},
		{"nodes/n/allocation", `{"trait": "n"}`, "Unexpected arguments: trait"},
		{"nodes/n/vifs/a", `{"trait": "a"}`, "Unexpected arguments: trait"},
		{"nodes/n/ports/" + absentUUID, `{"fields": "a"}`, "Unexpected arguments: fields"},
		{"runbooks", `{}`, "Missing mandatory parameter: runbook_ident"},
		{"runbooks/CUSTOM_A", `{"trait": "CUSTOM_B"}`, "Unexpected arguments: trait"},
	} {
		require.Equal(t, c.fault, s.do("DELETE", "/v1/"+c.path, "latest", c.body).fault(), "%s %s", c.path, c.body)
	}
	for _, c := range [][2]string{
		{"nodes/n/maintenance", `{}`}, {"nodes/maintenance", `{"node_ident": "n"}`}, {"nodes/n", `{}`}, {"nodes", `{"node_ident": "m"}`},
		{"runbooks", `{"runbook_ident": "CUSTOM_A"}`},
	} {
		a := s.do("DELETE", "/v1/"+c[0], "latest", c[1])
		require.Contains(t, []int{http.StatusAccepted, http.StatusNoContent}, a.status, "%s: %s", c, a.body)
	}
}
