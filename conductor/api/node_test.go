// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// SECURITY.md: They may do everything to every node, since there are no roles, but no answer shows them the password of
// a BMC, which they can learn in another way, see [below](#what-is-not-defended). The API masks passwords in
// `driver_info` and does not repeat them in errors.
func TestNoResponseContainsSecrets(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	const secrets = `{
		"ipmi_password": "hunter2", "redfish_password": "hunter2", "agent_token": "hunter2", "client_secret": "hunter2",
		"snmp_auth_key": "hunter2", "SNMP_PRIV_KEY": "hunter2", "passphrases": ["hunter2"], "admin_password": 42,
		"nested": {"private_key": "hunter2", "list": [{"password": "hunter2"}, [{"token": "hunter2"}]]},
		"ipmi_address": "10.0.0.1"}`
	body := `{"driver": "fake-hardware", "name": "n", "driver_info": ` + secrets +
		`, "instance_info": {"configdrive": "hunter2", "image_url": "http://hunter2/", "admin_pass": "hunter2", "root_gb": 10}}`
	answers := []reply{
		s.do("POST", "/v1/nodes", "latest", body),
		s.do("GET", "/v1/nodes/n", "latest", ""),
		s.do("GET", "/v1/nodes/n?fields=driver_info,instance_info", "latest", ""),
		s.do("GET", "/v1/nodes/detail", "latest", ""),
		s.do("GET", "/v1/nodes/n/driver_info", "latest", ""),
		s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/driver_info/other_password", "value": "hunter2"}]`),
		s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "replace", "path": "/driver_info/no_password", "value": "hunter2"}]`),
		s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "replace", "path": "/driver_info", "value": "hunter2"}]`),
		s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "driver_info": "hunter2"}`),
		s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "rescue", "rescue_password": ["hunter2"]}`),
		s.do("POST", "/v1/volume/targets", "latest",
			`{"properties": "hunter2", "node_uuid": "x", "boot_index": 0, "volume_id": "x", "volume_type": "x"}`),
	}
	for _, a := range answers {
		require.NotContains(t, a.body, "hunter2")
	}
	info := answers[1].json()["driver_info"].(map[string]any)
	require.Equal(t, "10.0.0.1", info["ipmi_address"])
	require.Equal(t, "******", info["admin_password"])
	n, err := s.conductor.Node(context.Background(), "n")
	require.NoError(t, err)
	require.Equal(t, "hunter2", n.DriverInfo["ipmi_password"], "the record keeps them")
	require.Equal(t, "hunter2", n.DriverInfo["other_password"])
}

func TestLinksBeginWithTheHostOfTheRequest(t *testing.T) {
	for _, c := range []struct {
		name, public string
		tls          bool
		want         string
	}{
		{"HTTP", "", false, "http://HOST/v1/nodes/"},
		{"HTTPS", "", true, "https://HOST/v1/nodes/"},
		{"behind a proxy", "https://metal.example.org/ironic/", false, "https://metal.example.org/ironic/v1/nodes/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, states.Latest(), api.Config{PublicURL: c.public})
			r := request("POST", "/v1/nodes", "latest", strings.NewReader(`{"driver": "fake-hardware"}`))
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
			a := s.send(r)
			uuid := a.must(http.StatusCreated)["uuid"].(string)
			require.Equal(t, c.want+uuid, a.header.Get("Location"))
			link := a.json()["links"].([]any)[0].(map[string]any)
			require.Equal(t, map[string]any{"href": c.want + uuid, "rel": "self"}, link)
		})
	}
}

func TestEveryResponseHasTheRequestID(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	one, other := s.do("GET", "/v1/nodes", "1.107", ""), s.do("GET", "/v1/nope", "1.106", "")
	for _, a := range []reply{one, other} {
		require.Regexp(t, "^req-[0-9a-f-]{36}$", a.header.Get("OpenStack-Request-Id"))
		require.Equal(t, a.header.Get("OpenStack-Request-Id"), a.header.Get("X-OpenStack-Request-Id"))
	}
	old := start(t, states.Flamingo, api.Config{})
	require.Empty(t, old.do("GET", "/v1/nodes", "1.101", "").header.Get("X-OpenStack-Request-Id"))
	require.Empty(t, old.do("GET", "/v1/nope", "1.101", "").header.Get("OpenStack-Request-Id"), "as Ironic's routing")
	require.NotEqual(t, one.header.Get("OpenStack-Request-Id"), other.header.Get("OpenStack-Request-Id"))
}

// hold blocks an operation of the fake hardware until release is called. The operation sends on
// reached when it starts.
func (s *server) hold(operation string) (reached <-chan struct{}, release func()) {
	at, gate := make(chan struct{}, 100), make(chan struct{})
	s.onOperation(func(ctx context.Context, _ *conductor.Node, done string) error {
		if done != operation {
			return nil
		}
		at <- struct{}{}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	release = sync.OnceFunc(func() { close(gate) })
	s.t.Cleanup(release)
	return at, release
}

func TestANodeWithWorkInFlightIsNotChanged(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.provision("n", "manage")
	s.provision("n", "provide")
	reached, release := s.hold("deploy.deploy")
	s.do("PUT", "/v1/nodes/n/states/provision", "1.82", `{"target": "active"}`).must(http.StatusAccepted)
	<-reached

	const transition = "Node n can not be updated while a state transition is in progress."
	const locked = " is locked by host testhost, please retry after the current operation is completed."
	for _, c := range []struct{ method, path, body, fault string }{
		{"PATCH", "", `[{"op": "add", "path": "/extra/a", "value": 1}]`, transition},
		{"PUT", "/states/provision", `{"target": "deleted"}`, "Node " + uuid + locked},
		{"PUT", "/states/power", `{"target": "power on"}`, "Node " + uuid + locked},
		{"PUT", "/maintenance", ``, "Node " + uuid + locked},
		{"DELETE", "", ``, "Node " + uuid + locked},
		{"PUT", "/traits/CUSTOM_A", ``, "Node " + uuid + locked},
		{"DELETE", "/traits/CUSTOM_A", ``, "Node " + uuid + locked},
		{"PUT", "/states/raid", `{"logical_disks": 1}`, "Node " + uuid + locked},
		{"PUT", "/management/indicators/led@system", `{"state": "on"}`, "Node " + uuid + locked},
	} {
		a := s.do(c.method, "/v1/nodes/n"+c.path, "1.82", c.body)
		require.Equal(t, http.StatusConflict, a.status, "%s %s: %s", c.method, c.path, a.body)
		require.Equal(t, c.fault, a.fault())
	}
	port := s.do("POST", "/v1/ports", "1.82", `{"address": "52:54:00:00:00:01", "node_uuid": "`+uuid+`"}`)
	require.Equal(t, http.StatusConflict, port.status, port.body)
	require.Equal(t, "deploying", s.do("GET", "/v1/nodes/n", "1.82", "").json()["provision_state"])
	require.Equal(t, "testhost", s.do("GET", "/v1/nodes/n", "1.82", "").json()["reservation"])

	release()
	s.wait("n")
	s.do("PATCH", "/v1/nodes/n", "1.82", `[{"op": "add", "path": "/extra/a", "value": 1}]`).must(http.StatusOK)
}

func TestAnInspectionKeepsItsNodeAndPortsFrom139On(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{
		Driver: "fake-hardware", Name: "n", ProvisionState: states.Inspecting, TargetProvisionState: states.Manageable,
		ConductorGroup: "elsewhere", // so that no conductor does the work
	})
	require.NoError(t, err)
	made, err := s.conductor.CreateObject(t.Context(), &conductor.Port{
		ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:01",
	})
	require.NoError(t, err)
	uuid, port := n.UUID, made.Meta().UUID
	patch := `[{"op": "add", "path": "/extra/a", "value": 1}]`
	require.Equal(t, `Cannot update node "`+uuid+`" while it is in state "inspecting".`, s.do("PATCH", "/v1/nodes/n", "1.39", patch).fault())
	require.Equal(t, `Cannot update port "`+port+`" on "`+uuid+`" while it is in state "inspecting".`,
		s.do("PATCH", "/v1/ports/"+port, "1.39", patch).fault())
	s.do("PATCH", "/v1/nodes/n", "1.38", patch).must(http.StatusOK)
	s.do("PATCH", "/v1/ports/"+port, "1.38", patch).must(http.StatusOK)
}

func TestNumbersAndTextsComeBackAsTheyWere(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	const extra = `{"a": 1, "b": -2.50, "c": "\u0000\"\\ü😀<>&", "d": [true, null, {}], "e": 123456789012345678901}`
	s.create(`{"driver": "fake-hardware", "name": "n", "extra": ` + extra + `}`)
	shown := func() map[string]any {
		var node struct{ Extra map[string]any }
		decoder := json.NewDecoder(strings.NewReader(s.do("GET", "/v1/nodes/n", "latest", "").body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&node))
		return node.Extra
	}
	want := map[string]any{
		"a": json.Number("1"), "b": json.Number("-2.50"), "c": "\x00\"\\ü😀<>&", "d": []any{true, nil, map[string]any{}},
		"e": json.Number("123456789012345678901"),
	}
	require.Equal(t, want, shown())
	s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/extra/f", "value": 9223372036854775807}]`).must(http.StatusOK)
	want["f"] = json.Number("9223372036854775807")
	require.Equal(t, want, shown(), "a patch of one key keeps the others")
}

func TestMaintenanceIsPatchedAsTextOrBoolean(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for _, value := range []string{`"true"`, `false`, `"True"`, `"off"`, `true`} {
		node := s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "replace", "path": "/maintenance", "value": `+value+`}]`).must(http.StatusOK)
		require.Equal(t, strings.Contains("\"true\" \"True\" true", value), node["maintenance"], value)
	}
}

func TestADriverIsChangedWithItsInterfaces(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n", "raid_interface": "no-raid"}`)
	change := `[{"op": "replace", "path": "/driver", "value": "ipmi"}]`
	require.Equal(t, http.StatusNotAcceptable, s.do("PATCH", "/v1/nodes/n?reset_interfaces=true", "1.44", change).status)
	node := s.do("PATCH", "/v1/nodes/n?reset_interfaces=true", "latest", change).must(http.StatusOK)
	require.Equal(t, "ipmi", node["driver"])
	require.Equal(t, "fake", node["raid_interface"])

	// Interfaces are not reset if the driver does not change or the patch sets an interface.
	s.create(`{"driver": "fake-hardware", "name": "m", "raid_interface": "no-raid", "rescue_interface": "no-rescue"}`)
	same := `[{"op": "replace", "path": "/driver", "value": "fake-hardware"}]`
	require.Equal(t, "no-raid", s.do("PATCH", "/v1/nodes/m?reset_interfaces=true", "latest", same).must(http.StatusOK)["raid_interface"])
	chosen := `[{"op": "replace", "path": "/driver", "value": "ipmi"}, {"op": "replace", "path": "/vendor_interface", "value": "no-vendor"}]`
	node = s.do("PATCH", "/v1/nodes/m?reset_interfaces=true", "latest", chosen).must(http.StatusOK)
	require.Equal(t, []any{"fake", "fake", "no-vendor"}, []any{node["raid_interface"], node["rescue_interface"], node["vendor_interface"]})
}

// plain is a hardware type that shares few interfaces with fake-hardware.
type plain struct{ conductor.Fake }

func (*plain) Describe() conductor.Description {
	return conductor.Description{Interfaces: map[string][]string{
		"boot": {"ipxe"}, "deploy": {"direct"}, "management": {"plain", "noop"}, "network": {"noop"}, "power": {"plain"}, "bios": {"no-bios"},
	}}
}

func TestADriverWhoseInterfacesDoNotFitIsRefused(t *testing.T) {
	s := startWith(t, states.Antelope, api.Config{}, map[string]conductor.Hardware{"plain": &plain{}})
	s.create(`{"driver": "fake-hardware", "name": "n", "bios_interface": "no-bios"}`)
	before := s.do("GET", "/v1/nodes/n", "1.82", "").body
	const driver = `{"op": "replace", "path": "/driver", "value": "plain"}`
	for range 20 {
		a := s.do("PATCH", "/v1/nodes/n", "1.82", "["+driver+"]")
		require.Equal(t, http.StatusBadRequest, a.status)
		require.Equal(t, "Could not find the following interface in the 'ironic.hardware.interfaces.boot' entrypoint: fake. "+
			"Valid interfaces are ['ipxe'].", a.fault())
	}
	require.Equal(t, before, s.do("GET", "/v1/nodes/n", "1.82", "").body, "nothing changed")

	chosen := driver
	for _, kind := range []string{"boot:ipxe", "deploy:direct", "management:noop", "power:plain"} {
		kind, name, _ := strings.Cut(kind, ":")
		chosen += `, {"op": "add", "path": "/` + kind + `_interface", "value": "` + name + `"}`
	}
	unfit := s.do("PATCH", "/v1/nodes/n", "1.82", "["+chosen+"]")
	require.Contains(t, unfit.fault(), "interfaces.console' entrypoint: fake. Valid interfaces are ['no-console'].")
	node := s.do("PATCH", "/v1/nodes/n?reset_interfaces=true", "1.82", "["+chosen+"]").must(http.StatusOK)
	require.Equal(t, []any{"ipxe", "noop", "no-bios", "no-console"},
		[]any{node["boot_interface"], node["management_interface"], node["bios_interface"], node["console_interface"]})
}

func TestNetworkDataHasItsThreeLists(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	patch := func(value string) reply {
		return s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/network_data", "value": `+value+`}]`)
	}
	for value, fault := range map[string]string{
		`{"nonsense": 1}`: "Invalid network_data: 'links' is a required property ",
		`{"links": [], "networks": 1, "services": []}`: "Invalid network_data: 1 is not of type 'array' ",
		`"text"`: "Invalid network_data: 'text' is not of type 'object' ",
	} {
		require.Equal(t, fault, patch(value).fault())
	}
	patch(`{"links": [], "networks": [], "services": []}`).must(http.StatusOK)
	require.Equal(t, http.StatusOK, s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "remove", "path": "/network_data"}]`).status)
}

func TestAVolumeOfNoNodeIsRefused(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	const none = "00000000-0000-0000-0000-00000000080f"
	want := "Invalid input for field/attribute node_uuid. Value: '" + none + "'. "
	for path, body := range map[string]string{
		"/v1/volume/connectors": `{"node_uuid": "` + none + `", "type": "ip", "connector_id": "192.0.2.1"}`,
		"/v1/volume/targets":    `{"node_uuid": "` + none + `", "volume_type": "iscsi", "boot_index": 1, "volume_id": "x"}`,
	} {
		answer := s.do("POST", path, "latest", body)
		require.Equal(t, http.StatusBadRequest, answer.status)
		require.Equal(t, want, answer.fault())
	}
}

// A request for a locked node is retried. If the node's state allows it by then, all other
// checks still apply.
func TestARequestThatHasWaitedForTheNodeIsChecked(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.provision("n", "manage")
	s.provision("n", "provide")
	reached, release := s.hold("deploy.deploy")
	s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "active"}`).must(http.StatusAccepted)
	<-reached
	answers, retries := make(chan reply), s.conductor.Stats().LockedRetries
	bodies := []string{`{"target": "service"}`, `{"target": "rescue"}`, `{"target": "deleted", "rescue_password": "x"}`}
	for _, body := range bodies {
		go func() { answers <- s.do("PUT", "/v1/nodes/n/states/provision", "latest", body) }()
	}
	for s.conductor.Stats().LockedRetries < retries+int64(len(bodies)) {
		time.Sleep(time.Millisecond)
	}
	release()
	for range bodies {
		a := <-answers // a conflict if all retries found the node locked
		require.Contains(t, []int{http.StatusBadRequest, http.StatusConflict}, a.status, a.body)
	}
	s.wait("n")
	require.Equal(t, "active", s.do("GET", "/v1/nodes/n", "latest", "").json()["provision_state"])
}

func TestAnEmptyConfigDriveIsNotStored(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", "latest",
		`{"target": "active", "configdrive": {}}`).status)
	n, err = s.conductor.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.NotContains(t, n.InstanceInfo, "configdrive")
}
