// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestAnAgentLooksItsNodeUpAndResumesTheWork(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("POST", "/v1/ports", "latest", `{"address": "52:54:00:00:00:01", "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	s.provision("n", "manage")
	s.provision("n", "provide")
	s.onOperation(func(_ context.Context, _ *conductor.Node, operation string) error {
		if operation == "deploy.deploy" {
			return conductor.ErrWait
		}
		return nil
	})
	const lookup = "/v1/lookup?addresses=52:54:00:00:00:01,nonsense"
	require.Equal(t, "Resource could not be found.", s.do("GET", lookup, "latest", "").fault(), "nobody has started an agent there")
	s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "active"}`).must(http.StatusAccepted)
	state := func() any { return s.do("GET", "/v1/nodes/n", "latest", "").json()["provision_state"] }
	s.untilState("n", states.DeployWait)

	found := s.do("GET", lookup, "latest", "").must(http.StatusOK)
	require.Equal(t, uuid, found["node"].(map[string]any)["uuid"])
	config := found["config"].(map[string]any)
	token := config["agent_token"].(string)
	require.NotEmpty(t, token)
	again := s.do("GET", lookup, "latest", "").must(http.StatusOK)
	require.Equal(t, "******", again["config"].(map[string]any)["agent_token"], "it is given out once")
	require.NotContains(t, s.do("GET", "/v1/nodes/n", "latest", "").body, token)

	beat := func(body string) reply { return s.do("POST", "/v1/heartbeat/"+uuid, "latest", body) }
	require.Equal(t, "Agent token is required for heartbeat processing.", beat(`{"callback_url": "http://192.0.2.1:9999"}`).fault())
	require.Equal(t, http.StatusBadRequest,
		beat(`{"callback_url": "http://192.0.2.1:9999", "agent_version": "9", "agent_token": "wrong"}`).status)
	require.Equal(t, "wait call-back", state())
	require.Equal(t, http.StatusAccepted,
		beat(`{"callback_url": "http://192.0.2.1:9999", "agent_version": "9", "agent_token": "`+token+`"}`).status)
	s.untilState("n", states.Active)
}

// managed is fake-hardware with another management interface.
type managed struct {
	conductor.Fake
	management string
}

func (m *managed) Describe() conductor.Description {
	d := m.Fake.Describe()
	d.Interfaces["management"] = []string{m.management}
	return d
}

func TestAnAgentLooksForItsBMCUnlessTheNodeHasItsAddress(t *testing.T) {
	t.Parallel()
	for series, more := range map[states.Series]bool{states.Gazpacho: true, states.Hibiscus: false} {
		for management, known := range map[string]bool{
			"ipmitool": false, "redfish": true, "idrac-redfish": true, "ilo": more, "ilo5": more, "ilo6": more, "irmc": more,
		} {
			s := startWith(t, series, api.Config{}, map[string]conductor.Hardware{"managed": &managed{management: management}})
			node := s.have(&conductor.Node{Driver: "managed", ProvisionState: states.DeployWait})
			config := s.do("GET", "/v1/lookup?node_uuid="+node, "latest", "").must(http.StatusOK)["config"].(map[string]any)
			require.Equal(t, known, config["agent_skip_bmc_detect"], "%s in %v", management, series)
		}
	}
}

func TestAnAgentsConfigurationDependsOnTheSeries(t *testing.T) {
	t.Parallel()
	shared := map[string]any{
		"metrics": map[string]any{
			"backend": "noop", "prepend_host": false, "prepend_uuid": false, "prepend_host_reverse": true, "global_prefix": nil,
		},
		"metrics_statsd":       map[string]any{"statsd_host": "localhost", "statsd_port": 8125.0},
		"heartbeat_timeout":    300.0,
		"agent_token_required": true,
	}
	image := map[string]any{"disable_deep_image_inspection": false, "permitted_image_formats": []any{"raw", "gpt", "qcow2", "iso"}}
	md5, bios := map[string]any{"agent_md5_checksum_enable": true}, map[string]any{"enable_bios_bootloader_install": false}
	bmc, tls := map[string]any{"agent_skip_bmc_detect": false}, map[string]any{"tls_min_version": "1.3", "tls_cipher_suites": nil}
	containers := map[string]any{"agent_containers": map[string]any{
		"allow_arbitrary_containers": false, "allowed_containers": []any{}, "container_steps_file": "/etc/ironic-python-agent.d/mysteps.yaml",
		"runner": "podman", "pull_options": "--tls-verify=false", "run_options": "--rm --network=host --tls-verify=false",
		"container_conf_file": "/etc/containers/containers.conf",
	}}
	safer := map[string]any{"agent_containers": map[string]any{
		"allow_arbitrary_containers": false, "allowed_containers": []any{}, "container_steps_file": "/etc/ironic-python-agent.d/mysteps.yaml",
		"runner": "podman", "pull_options": []any{}, "run_options": []any{"--rm", "--network=host"},
	}}
	for series, parts := range map[states.Series][]map[string]any{
		states.Zed: {}, states.Antelope: {image}, states.Bobcat: {image, md5}, states.Dalmatian: {image, md5}, states.Epoxy: {image, md5, bios},
		states.Flamingo: {image, md5, containers}, states.Gazpacho: {image, md5, containers, bmc},
		states.Hibiscus: {image, md5, safer, bmc, bios, tls},
	} {
		s := start(t, series, api.Config{})
		uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
		s.provision("n", "manage")
		s.provision("n", "provide")
		s.onOperation(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "deploy.deploy" {
				return conductor.ErrWait
			}
			return nil
		})
		s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "active"}`).must(http.StatusAccepted)
		s.untilState("n", states.DeployWait)
		want := maps.Clone(shared)
		for _, part := range parts {
			maps.Copy(want, part)
		}
		config := s.do("GET", "/v1/lookup?node_uuid="+uuid, "latest", "").must(http.StatusOK)["config"].(map[string]any)
		delete(config, "agent_token")
		require.Equal(t, want, config, "%v", series)
	}
}

func TestTheOperatorPermitsAgentsToInstallBootLoaders(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Dalmatian, states.Epoxy, states.Gazpacho, states.Latest()} {
		for _, permitted := range []bool{true, false} {
			got := configOfAgent(t, series, api.Config{BIOSBootloaders: permitted})["enable_bios_bootloader_install"]
			if permitted || series == states.Epoxy || series == states.Latest() {
				require.Equal(t, permitted, got, "%v", series)
			} else {
				require.Nil(t, got, "%v", series)
			}
		}
	}
}

func TestTheOperatorForbidsAgentsMD5Since2023_2(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]any{states.Antelope: nil, states.Bobcat: false, states.Latest(): false} {
		require.Equal(t, want, configOfAgent(t, series, api.Config{AgentsWithoutMD5: true})["agent_md5_checksum_enable"], "%v", series)
	}
}

// configOfAgent returns the configuration that an agent gets at its lookup.
func configOfAgent(t *testing.T, series states.Series, config api.Config) map[string]any {
	s := start(t, series, config)
	n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.DeployWait})
	require.NoError(t, err)
	return s.do("GET", "/v1/lookup?node_uuid="+n.UUID, "latest", "").must(http.StatusOK)["config"].(map[string]any)
}

func TestARunbookCleansTheNodesThatHaveItsTrait(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.provision("n", "manage")
	steps := `[{"interface": "deploy", "step": "erase_devices", "args": {"password": "hunter2",
		"settings": [{"name": "AdminPassword", "value": "hunter2"}]}, "order": "1"}]`
	runbook := s.do("POST", "/v1/runbooks", "latest", `{"name": "wipe", "steps": `+steps+`}`).must(http.StatusCreated)
	require.Equal(t, []any{}, runbook["traits"])
	require.Equal(t, []any{map[string]any{"interface": "deploy", "step": "erase_devices",
		"args":  map[string]any{"password": "******", "settings": []any{map[string]any{"name": "AdminPassword", "value": "******"}}},
		"order": 1.0}}, runbook["steps"])
	clean := func(version string) reply {
		return s.do("PUT", "/v1/nodes/n/states/provision", version, `{"target": "clean", "runbook": "wipe"}`)
	}
	require.Equal(t, "Runbook "+runbook["uuid"].(string)+" has no traits configured. "+
		"Please ask an administrator to add traits to the runbook.", clean("latest").fault())
	require.Equal(t, http.StatusNotAcceptable, clean("1.91").status)

	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/runbooks/wipe/traits", "latest", `{"traits": ["CUSTOM_B"]}`).status)
	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/runbooks/wipe/traits/CUSTOM_A", "latest", "").status)
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B"}, s.do("GET", "/v1/runbooks/wipe/traits", "1.112", "").json()["traits"])
	require.Nil(t, s.do("GET", "/v1/runbooks/wipe", "latest", "").json()["updated_at"], "its traits are not part of its record")
	require.Equal(t, "The API version does not allow runbook traits", s.do("GET", "/v1/runbooks/wipe/traits", "1.111", "").fault())
	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/nodes/n/traits/CUSTOM_A", "latest", "").status)
	require.Equal(t, http.StatusAccepted, clean("latest").status)
	s.wait("n")
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/runbooks/wipe/traits", "latest", "").status)
	require.Empty(t, s.do("GET", "/v1/runbooks/wipe/traits", "latest", "").json()["traits"])
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/runbooks/wipe/traits/CUSTOM_A", "latest", "").status,
		"the runbook does not have it")
	require.Equal(t, http.StatusBadRequest, s.do("POST", "/v1/runbooks", "1.111", `{"name": "wipe2", "steps": `+steps+`}`).status,
		"its name is a trait")
}

func TestTheProjectOfAListOfRunbooksIsABoolean(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for name, more := range map[string]string{"private": "", "public": `, "public": true`} {
		body := `{"name": "` + name + `", "steps": [{"interface": "bios", "step": "factory_reset", "order": 1}]` + more + `}`
		s.do("POST", "/v1/runbooks", "latest", body).must(http.StatusCreated)
	}
	for query, want := range map[string]int{"": 2, "?project=1": 1, "?project=true": 1, "?project=0": 2} {
		books := s.do("GET", "/v1/runbooks"+query, "latest", "").must(http.StatusOK)["runbooks"].([]any)
		require.Len(t, books, want, query)
		if want == 1 {
			require.Equal(t, "public", books[0].(map[string]any)["name"])
		}
	}
	require.Equal(t, http.StatusBadRequest, s.do("GET", "/v1/runbooks?project=mine", "latest", "").status)
}

func TestTheOrderOfAStepIsShown(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.provision("n", "manage")
	const steps = `[{"interface": "bios", "step": "no_such_step", "order": "3"}, {"interface": "bios", "step": "factory_reset"}]`
	s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "clean", "clean_steps": `+steps+`}`).must(http.StatusAccepted)
	s.wait("n")
	n := s.do("GET", "/v1/nodes/n", "latest", "").json()
	require.Contains(t, n["last_error"], "node does not support this clean step: {'interface': 'bios', 'step': 'no_such_step', 'order': 3}")
	require.Equal(t, []any{
		map[string]any{"interface": "bios", "step": "no_such_step", "order": 3.0}, map[string]any{"interface": "bios", "step": "factory_reset"},
	}, n["driver_internal_info"].(map[string]any)["clean_steps"])
}

func TestAServiceShowsThatItNeedsNoRamdiskSince2026_1(t *testing.T) {
	for series, want := range map[states.Series]any{states.Flamingo: nil, states.Gazpacho: true} {
		s := start(t, series, api.Config{})
		_, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Name: "n", Driver: "fake-hardware", ProvisionState: states.Active})
		require.NoError(t, err)
		const body = `{"target": "service", "service_steps": [{"interface": "power", "step": "hold"}]}`
		require.Equal(t, http.StatusAccepted, s.do("PUT", "/v1/nodes/n/states/provision", "latest", body).status)
		s.untilState("n", states.ServiceHold)
		info := s.do("GET", "/v1/nodes/n", "latest", "").json()["driver_internal_info"].(map[string]any)
		require.Contains(t, info, "service_disable_ramdisk")
		require.Equal(t, want, info["service_disable_ramdisk"], series)
	}
}

// In the record of a service Ironic tells a client that says false from one that says nothing.
func TestAServiceShowsWhetherItsClientSaysThatItNeedsARamdisk(t *testing.T) {
	s := start(t, states.Gazpacho, api.Config{})
	for more, want := range map[string]any{
		``: nil, `, "disable_ramdisk": null`: nil, `, "disable_ramdisk": false`: false, `, "disable_ramdisk": true`: true,
	} {
		n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active})
		require.NoError(t, err)
		body := `{"target": "service", "service_steps": [{"interface": "bios", "step": "no_such_step"}]` + more + `}`
		require.Equal(t, http.StatusAccepted, s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", "latest", body).status)
		s.untilState(n.UUID, states.ServiceFail)
		info := s.do("GET", "/v1/nodes/"+n.UUID, "latest", "").json()["driver_internal_info"].(map[string]any)
		require.Contains(t, info, "service_disable_ramdisk")
		require.Equal(t, want, info["service_disable_ramdisk"], body)
	}
}

// Ironic 39.0.0 calls methods that are no declared steps of a service only if it might boot a ramdisk. Of the declared
// steps of fake-hardware's vendor interface, one needs none.
func TestAServiceWithoutARamdiskHasOnlyTheDeclaredStepsThatNeedNone(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	const unknown = "node does not support this service step: {'interface': "
	for step, want := range map[string]string{
		`{"interface": "vendor", "step": "log_passthrough"}`:     "",
		`{"interface": "vendor", "step": "trigger_servicewait"}`: "'step': 'trigger_servicewait'} requires booting a ramdisk",
		`{"interface": "bios", "step": "factory_reset"}`:         unknown + "'bios', 'step': 'factory_reset'}",
		`{"interface": "raid", "step": "delete_configuration"}`:  unknown + "'raid', ",
		`{"interface": "firmware", "step": "update"}`:            unknown + "'firmware', ",
		`{"interface": "power", "step": "validate"}`:             unknown + "'power', ",
	} {
		n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active})
		require.NoError(t, err)
		body := `{"target": "service", "disable_ramdisk": true, "service_steps": [` + step + `]}`
		require.Equal(t, http.StatusAccepted, s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", "latest", body).status)
		s.wait(n.UUID)
		n, err = s.conductor.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		if want == "" {
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			continue
		}
		require.Equal(t, states.ServiceFail, n.ProvisionState, step)
		require.Contains(t, n.LastError, want)
		require.NotContains(t, n.LastError, ";", "there is one reason")
	}
}

func TestARunbookIsApprovedByItsNameAndLaterByItsTraits(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for name, more := range map[string]string{"CUSTOM_NAMED": ``, "traited": ``, "CUSTOM_OFFLINE": `, "disable_ramdisk": true`} {
		s.do("POST", "/v1/runbooks", "latest",
			`{"name": "`+name+`", "steps": [{"interface": "bios", "step": "factory_reset", "order": 1}]`+more+`}`).must(http.StatusCreated)
	}
	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/runbooks/traited/traits/CUSTOM_TRAIT", "latest", "").status)
	const notApproved, accepted = "This runbook has not been approved for use on this node", ""
	for name, test := range map[string]struct {
		in                                    states.State
		target, runbook, version, trait, more string
		fault                                 string
	}{
		"before runbooks":         {states.Manageable, "clean", "CUSTOM_NAMED", "1.91", "CUSTOM_NAMED", "", "Request not acceptable."},
		"by name":                 {states.Manageable, "clean", "CUSTOM_NAMED", "1.92", "CUSTOM_NAMED", "", accepted},
		"by name, before traits":  {states.Manageable, "clean", "CUSTOM_NAMED", "1.111", "CUSTOM_NAMED", "", accepted},
		"by name, another trait":  {states.Manageable, "clean", "CUSTOM_NAMED", "1.111", "CUSTOM_OTHER", "", notApproved},
		"by name, later":          {states.Manageable, "clean", "CUSTOM_NAMED", "1.112", "CUSTOM_NAMED", "", " has no traits configured."},
		"by trait, before traits": {states.Manageable, "clean", "traited", "1.111", "CUSTOM_TRAIT", "", notApproved},
		"by trait":                {states.Manageable, "clean", "traited", "1.112", "CUSTOM_TRAIT", "", accepted},
		"by another trait": {states.Manageable, "clean", "traited", "1.112", "CUSTOM_OTHER", "",
			"does not have any of the runbook's traits ['CUSTOM_TRAIT']. Please ask"},
		"of a service": {states.Active, "service", "traited", "1.112", "CUSTOM_TRAIT", "", accepted},
		"of a deployment": {states.Available, "active", "traited", "1.112", "CUSTOM_TRAIT", "",
			"disable_ramdisk is supported only with manual cleaning or servicing"},
		"with steps of other work": {states.Manageable, "clean", "traited", "1.112", "CUSTOM_TRAIT",
			`, "service_steps": [{"interface": "bios", "step": "factory_reset"}]`,
			`"runbooks" is only valid when setting target provision state to any of ['clean', 'service']`},
		"with deploy steps": {states.Manageable, "clean", "traited", "1.112", "CUSTOM_TRAIT",
			`, "deploy_steps": [{"interface": "bios", "step": "factory_reset", "priority": 1}]`,
			`"deploy_steps" is only valid when setting target provision state to active or rebuild`},
		"with a config drive": {states.Manageable, "clean", "none", "1.112", "CUSTOM_TRAIT", `, "configdrive": "x"`,
			"Adding a config drive is only supported when setting provision state to active, rebuild"},
		"with steps": {states.Manageable, "clean", "traited", "1.112", "CUSTOM_TRAIT",
			`, "clean_steps": [{"interface": "bios", "step": "factory_reset"}]`, `Please provide either "clean_steps" or a runbook, but not both.`},
		"without ramdisk": {states.Manageable, "clean", "CUSTOM_OFFLINE", "1.111", "CUSTOM_OFFLINE", "", accepted},
		"with ramdisk, against the request": {states.Manageable, "clean", "CUSTOM_NAMED", "1.111", "CUSTOM_NAMED",
			`, "disable_ramdisk": true`, accepted},
		"of a service, by name": {states.Active, "service", "CUSTOM_NAMED", "1.108", "CUSTOM_NAMED", "", accepted},
		"of a service, before disable_ramdisk": {states.Active, "service", "CUSTOM_NAMED", "1.107", "CUSTOM_NAMED", "",
			"disable_ramdisk is not acceptable in this API version"},
	} {
		n, err := s.conductor.CreateNode(t.Context(),
			&conductor.Node{Driver: "fake-hardware", ProvisionState: test.in, Traits: []string{test.trait}})
		require.NoError(t, err)
		a := s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", test.version,
			`{"target": "`+test.target+`", "runbook": "`+test.runbook+`"`+test.more+`}`)
		if test.fault != accepted {
			require.Contains(t, a.fault(), test.fault, name)
			continue
		}
		require.Equal(t, http.StatusAccepted, a.status, "%s: %s", name, a.body)
		s.wait(n.UUID)
		n, err = s.conductor.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		if test.target == "clean" {
			require.NotNil(t, n.CleanSteps, name)
			disabled := n.CleanSteps.DisableRamdisk
			require.Equal(t, strings.HasPrefix(name, "without ramdisk"), disabled != nil && *disabled, name)
		}
	}
}

// A runbook always says whether its steps need a ramdisk, and before 2026.1 a request for a service must not say it.
func TestAServiceByARunbookIsRefusedBefore2026_1(t *testing.T) {
	s := start(t, states.Flamingo, api.Config{})
	s.do("POST", "/v1/runbooks", "latest",
		`{"name": "CUSTOM_A", "steps": [{"interface": "vendor", "step": "log_passthrough", "order": 1}]}`).must(http.StatusCreated)
	n, err := s.conductor.CreateNode(t.Context(),
		&conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active, Traits: []string{"CUSTOM_A"}})
	require.NoError(t, err)
	a := s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", "latest", `{"target": "service", "runbook": "CUSTOM_A"}`)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, "disable_ramdisk is supported only with manual cleaning", a.fault())
}

func TestAnAllocationGetsANodeAndGivesItBack(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n", "resource_class": "big"}`)
	s.provision("n", "manage")
	s.provision("n", "provide")
	s.do("PUT", "/v1/nodes/n/states/power", "latest", `{"target": "power off"}`).must(http.StatusAccepted)
	s.wait("n") // a node with an unknown power state is not allocated
	s.do("PUT", "/v1/nodes/n/traits", "latest", `{"traits": ["CUSTOM_A"]}`).must(http.StatusNoContent)

	allocation := s.do("POST", "/v1/allocations", "latest",
		`{"name": "al", "resource_class": "big", "traits": ["CUSTOM_A"], "candidate_nodes": ["n"]}`).must(http.StatusCreated)
	require.Equal(t, "allocating", allocation["state"])
	require.Equal(t, []any{uuid}, allocation["candidate_nodes"])
	s.waitAllocation("al")
	allocation = s.do("GET", "/v1/allocations/al", "latest", "").must(http.StatusOK)
	require.Equal(t, "active", allocation["state"], allocation["last_error"])
	require.Equal(t, uuid, allocation["node_uuid"])
	node := s.do("GET", "/v1/nodes/n", "latest", "").must(http.StatusOK)
	require.Equal(t, allocation["uuid"], node["allocation_uuid"])
	require.Equal(t, allocation["uuid"], s.do("GET", "/v1/nodes/n/allocation", "latest", "").json()["uuid"])

	s.do("POST", "/v1/allocations", "latest", `{"name": "al2", "resource_class": "big"}`).must(http.StatusCreated)
	s.waitAllocation("al2")
	require.Equal(t, "error", s.do("GET", "/v1/allocations/al2", "latest", "").json()["state"])

	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/nodes/n/allocation", "latest", "").status)
	require.Nil(t, s.do("GET", "/v1/nodes/n", "latest", "").json()["instance_uuid"])
	require.Equal(t, "Allocation for node n was not found", s.do("GET", "/v1/nodes/n/allocation", "latest", "").fault())
}

func TestNothingIsMovedToANodeOfAnotherOwner(t *testing.T) {
	const none = "11111111-2222-3333-4444-555555555555"
	for _, series := range []states.Series{states.Antelope, states.Latest()} {
		s := start(t, series, api.Config{})
		mine, alsoMine := s.create(`{"driver": "fake-hardware", "owner": "me"}`), s.create(`{"driver": "fake-hardware", "owner": "me"}`)
		yours := s.create(`{"driver": "fake-hardware", "owner": "you"}`)
		for _, uuid := range []string{mine, alsoMine, yours} {
			_, err := s.conductor.UpdateNode(t.Context(), uuid, func(n *conductor.Node) error { n.Power = states.PowerOff; return nil })
			require.NoError(t, err)
		}
		for path, body := range map[string]string{
			"ports":             `"address": "52:54:00:00:00:01"`,
			"portgroups":        `"name": "pg"`,
			"volume/connectors": `"type": "iqn", "connector_id": "i"`,
			"volume/targets":    `"volume_type": "iscsi", "volume_id": "v", "boot_index": 0`,
		} {
			uuid := s.do("POST", "/v1/"+path, "latest", `{"node_uuid": "`+mine+`", `+body+`}`).must(http.StatusCreated)["uuid"].(string)
			move := func(node string) reply {
				return s.do("PATCH", "/v1/"+path+"/"+uuid, "latest", `[{"op": "replace", "path": "/node_uuid", "value": "`+node+`"}]`)
			}
			refused := "Unable to apply the requested node_uuid '%s'. Requested value was invalid."
			require.Equal(t, fmt.Sprintf(refused, yours), move(yours).fault(), "%v %s", series, path)
			unknown := fmt.Sprintf(refused, none)
			if series == states.Antelope {
				unknown = "Node " + none + " could not be found."
			}
			require.Equal(t, unknown, move(none).fault(), "%v %s", series, path)
			require.Equal(t, http.StatusBadRequest, move(none).status)
			require.Equal(t, alsoMine, move(alsoMine).must(http.StatusOK)["node_uuid"], "%v %s", series, path)
		}
	}
}

func TestAnEmptyShardIsNotNone(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	for _, shard := range []string{`null`, `""`, `"None"`, `"x"`, `"x"`} {
		s.create(`{"driver": "fake-hardware", "shard": ` + shard + `}`)
	}
	require.JSONEq(t, `{"shards": [{"name": "x", "count": 2}, {"name": "None", "count": 1}, {"name": "", "count": 1}, `+
		`{"name": "None", "count": 1}]}`,
		s.do("GET", "/v1/shards", "1.82", "").body, "as a live Ironic answers")
}

func TestObjectsOfANodeAreDeletedWithIt(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("POST", "/v1/ports", "latest", `{"address": "52:54:00:00:00:01", "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	s.do("POST", "/v1/portgroups", "latest", `{"name": "pg", "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	s.do("POST", "/v1/volume/connectors", "latest", `{"type": "iqn", "connector_id": "i", "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	s.do("POST", "/v1/volume/targets", "latest",
		`{"volume_type": "iscsi", "volume_id": "v", "boot_index": 0, "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/nodes/n", "latest", "").status)
	for path, list := range map[string]string{
		"ports": "ports", "portgroups": "portgroups", "volume/connectors": "connectors", "volume/targets": "targets",
	} {
		require.Empty(t, s.do("GET", "/v1/"+path, "latest", "").must(http.StatusOK)[list], path)
	}
}

func TestTheInventoryIsShownIfItExists(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	require.Equal(t, "Node inventory record for node "+uuid+" could not be found.", s.do("GET", "/v1/nodes/n/inventory", "latest", "").fault())
	_, err := s.conductor.CreateObject(context.Background(), &conductor.Inventory{
		ObjectMeta: conductor.ObjectMeta{UUID: uuid, NodeUUID: uuid},
		Inventory:  map[string]any{"cpu": map[string]any{"count": 4.0}},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"inventory": map[string]any{"cpu": map[string]any{"count": 4.0}}, "plugin_data": map[string]any{}},
		s.do("GET", "/v1/nodes/n/inventory", "latest", "").must(http.StatusOK))
}

func TestListsWaitForTheConductor(t *testing.T) {
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	s := &server{Handler: api.New(c, api.Config{}), t: t, conductor: c}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := s.send(request("GET", "/v1/nodes", "latest", nil).WithContext(ctx))
	require.Equal(t, http.StatusServiceUnavailable, a.status, "a conductor that does not run has read no nodes, and the client has gone")
}
