// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// have creates a node of fake-hardware as if it had come to its state before.
func (s *server) have(n *conductor.Node) (uuid string) {
	s.t.Helper()
	if n.Driver == "" {
		n.Driver = "fake-hardware"
	}
	n, err := s.conductor.CreateNode(s.t.Context(), n)
	require.NoError(s.t, err)
	return n.UUID
}

// TestRequestsAreAllowedSinceTheirVersion sends each request with the last version that refuses it and the first that
// allows it.
func TestRequestsAreAllowedSinceTheirVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	chassis := s.do("POST", "/v1/chassis", "latest", `{}`).must(http.StatusCreated)["uuid"].(string)
	uuid := s.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable, ChassisUUID: chassis})
	const notAcceptable = "Request not acceptable."
	for _, c := range []struct {
		method, path string
		since        states.APIVersion
		body         string
		fault        string // before that version
		status       int    // since that version
	}{
		{"GET", "/v1/nodes/n?fields=uuid", 8, "", notAcceptable, 200},
		{"GET", "/v1/nodes?fields=uuid", 8, "", notAcceptable, 200},
		{"GET", "/v1/nodes/validate?node=n", 5, "", notAcceptable, 200},
		{"PUT", "/v1/nodes/n/states/raid", 12, `{}`, notAcceptable, 204},
		{"PATCH", "/v1/nodes/" + uuid, 25, `[{"op": "remove", "path": "/chassis_uuid"}]`, notAcceptable, 200},
		{"PATCH", "/v1/nodes/n?reset_interfaces=false", 45, `[{"op": "add", "path": "/extra/a", "value": 1}]`, notAcceptable, 200},
		{"PUT", "/v1/nodes/n/states/power", 27, `{"target": "soft power off"}`, notAcceptable, 202},
		{"PUT", "/v1/nodes/n/states/power", 27, `{"target": "soft rebooting"}`, notAcceptable, 202},
		{"PUT", "/v1/nodes/n/states/power", 27, `{"target": "power on", "timeout": 5}`, notAcceptable, 202},
		{"PUT", "/v1/nodes/n/states/boot_mode", 76, `{"target": "uefi"}`, "This endpoint is supported starting with the API version 1.76", 202},
		{"POST", "/v1/nodes", 46, `{"driver": "fake-hardware", "conductor_group": null}`, notAcceptable, 201},
		{"GET", "/v1/nodes?sort_key=resource_class", 21, "", notAcceptable, 200},
		{"GET", "/v1/nodes?driver=x", 16, "", "Request not acceptable. The minimal required API version should be 1.16", 200},
		{"GET", "/v1/nodes?provision_state=active", 9, "", notAcceptable, 200},
	} {
		old := s.do(c.method, c.path, (c.since - 1).String(), c.body)
		require.Equal(t, c.fault, old.fault(), "%s %s at %v", c.method, c.path, c.since-1)
		now := s.do(c.method, c.path, c.since.String(), c.body)
		require.Equal(t, c.status, now.status, "%s %s at %v: %s", c.method, c.path, c.since, now.body)
		s.wait("n")
	}
	for _, c := range []struct{ version, method, path, body string }{
		{"1.45", "POST", "/v1/nodes", `{"driver": "fake-hardware", "conductor_group": ""}`},
		{"1.24", "PATCH", "/v1/nodes/" + uuid, `[{"op": "add", "path": "/extra/b", "value": 1}]`},
		{"1.26", "PUT", "/v1/nodes/n/states/power", `{"target": "power on"}`},
		{"1.4", "GET", "/v1/nodes/validate?node=" + uuid, ""},
		{"1.4", "GET", "/v1/nodes/validate?node_uuid=" + uuid, ""},
		{"1.5", "GET", "/v1/nodes/validate?node=absent&node_uuid=" + uuid, ""},
	} {
		a := s.do(c.method, c.path, c.version, c.body)
		require.Less(t, a.status, 300, "%s %s at %s: %s", c.method, c.path, c.version, a.body)
		s.wait("n")
	}
	require.Contains(t, s.do("GET", "/v1/nodes/n/states", "1.12", "").must(http.StatusOK), "raid_config")
	require.NotContains(t, s.do("GET", "/v1/nodes/"+uuid+"/states", "1.11", "").must(http.StatusOK), "raid_config")
}

func TestInvalidFieldsOfANodeAreRefusedInIronicsOrder(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n", "deploy_interface": "fake"}`)
	boolean := func(field, value string) string {
		return "Invalid " + field + ": Unrecognized value '" + value + "', acceptable values are: '0', '1', 'f', 'false', 'n', " +
			"'no', 'off', 'on', 't', 'true', 'y', 'yes'"
	}
	for _, c := range []struct{ method, path, body, fault string }{
		{"POST", "/v1/nodes", `{"driver": "fake-hardware", "protected": true}`,
			"Schema error for node: Additional properties are not allowed ('protected' was unexpected)"},
		{"POST", "/v1/nodes", `{"driver": "fake-hardware", "instance_info": "hunter2"}`, "Schema error for node: "},
		{"POST", "/v1/nodes", `{"chassis_uuid": 1, "driver": 2}`, "Schema error for node: 2 is not of type"},
		{"POST", "/v1/nodes", `{"driver": "fake-hardware", "automated_clean": "x", "chassis_uuid": "y"}`, boolean("automated_clean", "x")},
		{"POST", "/v1/nodes", `{"driver": "fake-hardware", "extra": "text"}`, "Schema error for node: 'text' is not of type"},
		{"PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/maintenance", "value": "x"}, {"op": "add", "path": "/protected", "value": "z"}]`,
			boolean("protected", "z")},
		{"PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/deploy_interface/a", "value": "x"}]`,
			"Couldn't apply patch '{'op': 'add', 'path': '/deploy_interface/a', 'value': 'x'}'. Reason: 'a' is not a valid sequence index"},
		{"PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/conductor_group/a", "value": "x"}]`,
			"Couldn't apply patch '{'op': 'add', 'path': '/conductor_group/a', 'value': 'x'}'. Reason: 'a' is not a valid sequence index"},
		{"GET", "/v1/nodes/n?fields=created_at", ``, "Field created_at is not a valid field."},
		{"GET", "/v1/nodes?sort_key=conductor", ``, `The sort_key value "conductor" is an invalid field for sorting`},
		{"GET", "/v1/nodes?sort_key=allocation_uuid", ``, `The sort_key value "allocation_uuid" is an invalid field for sorting`},
		{"PUT", "/v1/nodes/n/states/power", `{"target": ""}`,
			`The requested action "" can not be performed on node "n" while it is in state "None".`},
		{"PUT", "/v1/nodes/n/states/power", `{"target": "nonsense"}`,
			`The requested action "nonsense" can not be performed on node "n" while it is in state "None".`},
		{"PUT", "/v1/nodes/n/states/power", `{"target": "error"}`,
			`The requested action "error" can not be performed on node "n" while it is in state "None".`},
		{"PUT", "/v1/nodes/n/states/provision", `{"target": null}`,
			`The requested action "None" can not be performed on node "` + uuid + `" while it is in state "enroll".`},
		{"PUT", "/v1/nodes/n/states/secure_boot", `{"target": null}`,
			"Invalid secure_boot None requested for node. Allowed secure_boot states are: True, False) "},
		{"POST", "/v1/nodes/n/vifs", `{"id": "a b"}`, "Expected UUID or name for id: a b"},
		{"DELETE", "/v1/nodes/n/vifs/a%20b", ``, "Expected UUID or name for vif_id: a b"},
	} {
		a := s.do(c.method, c.path, "latest", c.body)
		require.True(t, strings.HasPrefix(a.fault(), c.fault), "%s %s %s: %s", c.method, c.path, c.body, a.fault())
		require.NotContains(t, a.body, "hunter2")
	}
}

func TestTextsOfANodeHaveALargestLength(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for field, most := range map[string]int{"description": 4096, "resource_class": 80, "instance_name": 255} {
		for length, status := range map[int]int{most: http.StatusCreated, most + 1: http.StatusBadRequest} {
			a := s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "`+field+`": "`+strings.Repeat("a", length)+`"}`)
			require.Equal(t, status, a.status, "%s of %d characters", field, length)
		}
	}
}

// A patch of a description that is too long is refused before the node is found, as by Ironic 39.0.0.
func TestTheDescriptionInAPatchHasALargestLength(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	patch := func(node, text string) reply {
		return s.do("PATCH", "/v1/nodes/"+node, "latest", `[{"op": "add", "path": "/description", "value": "`+text+`"}]`)
	}
	for _, node := range []string{"n", "missing"} {
		require.Equal(t, "Cannot update node with description exceeding 4096 characters", patch(node, strings.Repeat("ä", 4097)).fault())
	}
	patch("n", strings.Repeat("ä", 4096)).must(http.StatusOK)
}

// Ironic looks only for patches of whole fields.
func TestAPatchOfAPartOfANewerFieldIsAllowedInAllVersions(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for path, status := range map[string]int{"/network_data": http.StatusNotAcceptable, "/network_data/a": http.StatusBadRequest} {
		a := s.do("PATCH", "/v1/nodes/n", "1.65", `[{"op": "add", "path": "`+path+`", "value": {}}]`)
		require.Equal(t, status, a.status, a.body)
	}
}

func TestANewNodeIsManagedByAConductorOfTheDefaultGroup(t *testing.T) {
	t.Parallel()
	s := startCluster(t, func(c *conductor.Config) { c.DefaultGroup = "x" })
	require.Equal(t, "x", s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware"}`).must(http.StatusCreated)["conductor_group"])
	startCluster(t).do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware"}`).must(http.StatusBadRequest)
	s = startCluster(t, func(c *conductor.Config) { c.DefaultGroup = "b" })
	s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware"}`).must(http.StatusBadRequest)
}

func TestAConductorGroupIsStoredInLowerCase(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	require.Equal(t, "x", s.do("POST", "/v1/nodes", "latest",
		`{"driver": "fake-hardware", "conductor_group": "X"}`).must(http.StatusCreated)["conductor_group"])

	s = start(t, states.Latest(), api.Config{})
	require.Equal(t, "", s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware"}`).must(http.StatusCreated)["conductor_group"])
	require.Len(t, s.do("GET", "/v1/nodes?conductor_group=", "latest", "").values("nodes", "uuid"), 1)
}

func TestReadingANodeDoesNotChangeItsImage(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	secret := map[string]any{"image_url": "http://u:hunter2@h/", "configdrive": "hunter2"}
	uuid := s.have(&conductor.Node{ProvisionState: states.Active, InstanceInfo: secret})
	shown := s.do("GET", "/v1/nodes/"+uuid, "latest", "").must(http.StatusOK)
	require.Equal(t, map[string]any{"image_url": "******", "configdrive": "******"}, shown["instance_info"])
	n, err := s.conductor.Node(t.Context(), uuid)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"image_url": "http://u:hunter2@h/", "configdrive": "hunter2"}, n.InstanceInfo)

	uuid = s.have(&conductor.Node{ProvisionState: states.Active, InstanceInfo: map[string]any{"image_url": "http://h/signed"}})
	require.NotContains(t, s.do("GET", "/v1/nodes/"+uuid, "latest", "").body, "signed")
	n, err = s.conductor.Node(t.Context(), uuid)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"image_url": "http://h/signed"}, n.InstanceInfo)

	empty := map[string]any{"image_url": "", "configdrive": nil}
	uuid = s.have(&conductor.Node{ProvisionState: states.Active, InstanceInfo: empty})
	require.Equal(t, empty, s.do("GET", "/v1/nodes/"+uuid, "latest", "").must(http.StatusOK)["instance_info"])
}

func TestOnlyTheInstanceOfABusyNodeInMaintenanceCanBeRemoved(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.have(&conductor.Node{Name: "n", ProvisionState: states.DeployWait, TargetProvisionState: states.Active, Maintenance: true,
		InstanceUUID: absentUUID})
	const busy = "Node n can not be updated while a state transition is in progress."
	for _, patch := range []string{
		`{"op": "remove", "path": "/extra"}`,
		`{"op": "replace", "path": "/instance_uuid", "value": null}`,
		`{"op": "remove", "path": "/instance_uuid"}, {"op": "remove", "path": "/extra"}`,
	} {
		a := s.do("PATCH", "/v1/nodes/n", "latest", "["+patch+"]")
		require.Equal(t, busy, a.fault(), patch)
		require.Equal(t, http.StatusConflict, a.status)
	}
	removal := s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "remove", "path": "/instance_uuid"}]`)
	if removal.status != http.StatusOK { // the state forbids it, but not because the node is busy
		require.NotEqual(t, busy, removal.fault())
	}
}

func TestANodeIsNoLongerRetiredForAReason(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for _, c := range []struct{ retired, reason string }{{"true", ""}, {"true", "old"}, {"false", ""}} {
		uuid := s.create(`{"driver": "fake-hardware", "retired": ` + c.retired + `, "retired_reason": "` + c.reason + `"}`)
		require.Equal(t, c.reason, s.do("GET", "/v1/nodes/"+uuid, "latest", "").json()["retired_reason"])
		n := s.do("PATCH", "/v1/nodes/"+uuid, "latest", `[{"op": "remove", "path": "/retired"}]`).must(http.StatusOK)
		require.Equal(t, []any{false, nil}, []any{n["retired"], n["retired_reason"]})
	}
}

func TestAPatchOfTheInstanceNamesItSinceGazpacho(t *testing.T) {
	t.Parallel()
	const patch = `[{"op": "add", "path": "/instance_info/display_name", "value": "web"}]`
	for series, want := range map[states.Series]any{states.Gazpacho: "web", states.Gazpacho + 1: "web"} {
		s := start(t, series, api.Config{})
		s.create(`{"driver": "fake-hardware", "name": "n"}`)
		require.Equal(t, want, s.do("PATCH", "/v1/nodes/n", "latest", patch).must(http.StatusOK)["instance_name"])
		s.create(`{"driver": "fake-hardware", "name": "m", "instance_name": "db"}`)
		require.Equal(t, "db", s.do("PATCH", "/v1/nodes/m", "latest", patch).must(http.StatusOK)["instance_name"])
	}
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n", "instance_info": {"display_name": "web"}}`)
	for _, c := range []struct{ operations, want string }{ // as Ironic 39.0.0
		{`{"op": "add", "path": "/extra/a", "value": 1}`, ""},
		{`{"op": "add", "path": "/instance_info/display_name", "value": "web"}`, ""},
		{`{"op": "add", "path": "/instance_info/display_name", "value": "db"}`, "db"},
		{`{"op": "remove", "path": "/instance_name"}`, ""},
		{`{"op": "add", "path": "/extra/b", "value": 1}`, ""},
		{`{"op": "add", "path": "/instance_info/display_name", "value": 7}`, "7"},
		{`{"op": "remove", "path": "/instance_name"}, {"op": "add", "path": "/instance_info/display_name", "value": 0}`, ""},
	} {
		got, _ := s.do("PATCH", "/v1/nodes/n", "latest", "["+c.operations+"]").must(http.StatusOK)["instance_name"].(string)
		require.Equal(t, c.want, got, c.operations)
	}
	require.Equal(t, "Schema error for patch: '' should be non-empty",
		s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/instance_name", "value": ""}]`).fault())
	require.Equal(t, "Schema error for node: '' should be non-empty",
		s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "instance_name": ""}`).fault())

	s = start(t, states.Gazpacho-1, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("PATCH", "/v1/nodes/n", "latest", patch).must(http.StatusOK)
	n, err := s.conductor.Node(t.Context(), "n")
	require.NoError(t, err)
	require.Empty(t, n.InstanceName)
}

func TestAChildCanLeaveItsParent(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "parent"}`)
	child := s.create(`{"driver": "fake-hardware", "parent_node": "parent"}`)
	require.Nil(t, s.do("PATCH", "/v1/nodes/"+child, "latest",
		`[{"op": "remove", "path": "/parent_node"}]`).must(http.StatusOK)["parent_node"])
}

func TestARAIDConfigurationHasAtMostOneRootVolume(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable})
	const root = `{"size_gb": 1, "raid_level": "1", "is_root_volume": true}`
	put := func(disks string) reply {
		return s.do("PUT", "/v1/nodes/n/states/raid", "latest", `{"logical_disks": [`+disks+`]}`)
	}
	require.Equal(t, http.StatusNoContent, put(root).status)
	disks := s.do("GET", "/v1/nodes/n/states", "latest", "").must(http.StatusOK)["target_raid_config"].(map[string]any)["logical_disks"]
	require.Equal(t, []any{map[string]any{"size_gb": 1.0, "raid_level": "1", "is_root_volume": true}}, disks)
	require.Equal(t, "Raid config cannot have more than one root volume. 2 root volumes were specified", put(root+","+root).fault())
}

func TestThePowerTimeoutIsInSeconds(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	var requested atomic.Bool
	s.onOperation(func(_ context.Context, _ *conductor.Node, operation string) error {
		requested.CompareAndSwap(false, operation == "soft power off")
		if operation == "read power" && requested.Load() {
			return errors.New("no answer")
		}
		return nil
	})
	s.do("PUT", "/v1/nodes/n/states/power", "latest", `{"target": "soft power off", "timeout": 1}`).must(http.StatusAccepted)
	s.wait("n")
	require.Contains(t, s.do("GET", "/v1/nodes/n", "latest", "").json()["last_error"], "within 1s")
}

// partial is hardware that validates only some of its interfaces.
type partial struct{ conductor.Fake }

func (*partial) Validate(*conductor.Node) map[string]error {
	return map[string]error{"power": nil, "vendor": fmt.Errorf("no vendor")}
}

func TestAValidationHasTheInterfacesThatTheHardwareValidates(t *testing.T) {
	t.Parallel()
	s := startWith(t, states.Latest(), api.Config{}, map[string]conductor.Hardware{"partial": &partial{}})
	s.create(`{"driver": "partial", "name": "n"}`)
	got := s.do("GET", "/v1/nodes/validate?node=n", "latest", "").must(http.StatusOK)
	require.Equal(t, map[string]any{"result": true}, got["power"])
	require.Equal(t, map[string]any{"result": false, "reason": "no vendor"}, got["vendor"])
	require.NotContains(t, got, "boot")
	for series, firmware := range map[states.Series]bool{states.Antelope: false, states.Bobcat: true} {
		s := start(t, series, api.Config{})
		s.create(`{"driver": "fake-hardware", "name": "n"}`)
		_, has := s.do("GET", "/v1/nodes/validate?node=n", "latest", "").must(http.StatusOK)["firmware"]
		require.Equal(t, firmware, has, series)
	}
}

func TestTheArgumentsOfAStepAreDescribed(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	step := conductor.Step{Interface: "bios", Step: "apply", ArgsInfo: map[string]conductor.StepArgument{
		"settings": {Description: "what to set", Required: true}, "force": {},
	}}
	uuid := s.have(&conductor.Node{ProvisionState: states.CleanWait, TargetProvisionState: states.Manageable, CleanSteps: &conductor.Steps{
		Planned: []conductor.Step{step}, Begun: 1, Current: &step,
	}})
	require.Equal(t, map[string]any{
		"settings": map[string]any{"description": "what to set", "required": true}, "force": map[string]any{},
	}, s.do("GET", "/v1/nodes/"+uuid, "latest", "").must(http.StatusOK)["clean_step"].(map[string]any)["argsinfo"])
}

func TestVendorMethodsAreDescribed(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	methods := s.do("GET", "/v1/nodes/n/vendor_passthru/methods", "latest", "").must(http.StatusOK)
	for name, async := range map[string]bool{"second_method": true, "third_method_sync": false} {
		word := map[bool]string{true: "kazoo", false: "meow"}[async]
		require.Equal(t, map[string]any{
			"http_methods":           []any{"POST"},
			"async":                  async,
			"description":            "Test if the value of bar is " + word,
			"attach":                 false,
			"require_exclusive_lock": true,
		}, methods[name])
	}
}

func TestAVirtualInterfaceHasOnePortSince167(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	const both = `{"id": "v", "port_uuid": "` + absentUUID + `", "portgroup_uuid": "` + absentUUID + `"}`
	for _, c := range []struct {
		version, body string
		status        int
	}{
		{"1.66", both, http.StatusNoContent},
		{"1.67", both, http.StatusBadRequest},
		{"1.67", `{"id": "v", "port_uuid": null, "portgroup_uuid": null}`, http.StatusBadRequest},
		{"1.67", `{"id": "v", "port_uuid": "` + absentUUID + `"}`, http.StatusNoContent},
		{"1.67", `{"id": "v", "portgroup_uuid": "` + absentUUID + `"}`, http.StatusNoContent},
		{"1.67", `{"id": "` + absentUUID + `"}`, http.StatusNoContent},
	} {
		require.Equal(t, c.status, s.do("POST", "/v1/nodes/n/vifs", c.version, c.body).status, "%s %s", c.version, c.body)
	}
	for _, id := range []string{"v", absentUUID} {
		require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/nodes/n/vifs/"+id, "1.67", "").status)
	}
}

// slotted is hardware with two slots of virtual media.
type slotted struct{ conductor.Fake }

func (*slotted) InjectNMI(context.Context, *conductor.Node) error                    { return nil }
func (*slotted) SetBootMode(context.Context, *conductor.Node, string) error          { return nil }
func (*slotted) SetSecureBoot(context.Context, *conductor.Node, bool) error          { return nil }
func (*slotted) DetachVirtualMedia(context.Context, *conductor.Node, []string) error { return nil }
func (*slotted) AttachVirtualMedia(context.Context, *conductor.Node, string, string) error {
	return nil
}

func (*slotted) VirtualMedia(context.Context, *conductor.Node) ([]conductor.VirtualMedia, error) {
	return []conductor.VirtualMedia{{Image: "http://h/boot.iso", Inserted: true, MediaTypes: []string{"CD", "DVD"}},
		{MediaTypes: []string{"Floppy"}}}, nil
}

func TestTheSlotsOfVirtualMediaAreShown(t *testing.T) {
	t.Parallel()
	s := startWith(t, states.Latest(), api.Config{}, map[string]conductor.Hardware{"slotted": &slotted{}})
	s.create(`{"driver": "slotted", "name": "n"}`)
	a := s.do("GET", "/v1/nodes/n/vmedia", "latest", "")
	require.JSONEq(t, `[{"image": "http://h/boot.iso", "inserted": true, "media_types": ["CD", "DVD"]}, `+
		`{"image": null, "inserted": false, "media_types": ["Floppy"]}]`, a.body)
}

func TestABIOSSettingIsShownByItsName(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable,
		BIOSSettings: []conductor.BIOSSetting{{Name: "noise", Value: "none"}}})
	for version, fields := range map[string]int{"1.73": 5, "1.74": 14} {
		require.Len(t, s.do("GET", "/v1/nodes/n/bios/noise", version, "").must(http.StatusOK)["noise"], fields, version)
	}
	noise := s.do("GET", "/v1/nodes/n/bios/noise", "1.74", "").json()["noise"].(map[string]any)
	require.Equal(t, []any{[]any{}, nil}, []any{noise["allowable_values"], noise["unique"]})
}

func TestTheNameOfABIOSSettingIsCheckedSince2025_2(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]string{
		states.Epoxy:    "Node missing could not be found.",
		states.Flamingo: "Schema error: 'a b' does not match '(?i)^[A-Z0-9-._~]+$'",
	} {
		require.Equal(t, want, start(t, series, api.Config{}).do("GET", "/v1/nodes/missing/bios/a%20b", "latest", "").fault())
	}
}

func TestAllWrongDevicesOfVirtualMediaAreNamed(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	require.Equal(t, "Invalid device type(s) usb, x (valid are disk, cdrom, floppy)",
		s.do("DELETE", "/v1/nodes/missing/vmedia?device_types=usb,cdrom,x", "latest", "").fault())
}

func TestASeriesHasThePartsOfItsLastVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Xena, api.Config{}) // ends with 1.78, the first version with the history of nodes
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	require.Empty(t, s.do("GET", "/v1/nodes/n/history", "latest", "").must(http.StatusOK)["history"])
}

func TestTraitsAreSortedAndStoredOnce(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("PUT", "/v1/nodes/n/traits", "latest", `{"traits": ["CUSTOM_B", "CUSTOM_A", "CUSTOM_B"]}`).must(http.StatusNoContent)
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B"}, s.do("GET", "/v1/nodes/n/traits", "latest", "").json()["traits"])
}
