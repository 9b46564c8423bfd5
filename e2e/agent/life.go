// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// life takes the node of a machine through its states by the API.
type life struct {
	options
	machine    *machine
	out        io.Writer
	api, files string // URLs
	begun      time.Time
	node       string // its path below the API
}

type object = map[string]any

// boots is the number of boots of the agent in a life, with and without fast track. With it the agent is booted for the
// inspection, by the step with a reboot, to rescue, and for each deletion.
var boots = map[bool]int{false: 9, true: 5}

func (l *life) run(ctx context.Context) {
	source, sum := l.image(ctx)
	provision := func(want string, request object) func(context.Context) {
		return func(ctx context.Context) { l.provision(ctx, request, want) }
	}
	for _, step := range []struct {
		name string
		do   func(context.Context)
	}{
		{"enroll", func(ctx context.Context) { l.enroll(ctx, source, sum) }},
		{"inspect", l.inspect},
		{"clean by the client's steps, with a reboot between two", provision("manageable", object{"target": "clean", "clean_steps": []object{
			{"interface": "deploy", "step": "needs_reboot"}, {"interface": "deploy", "step": "erase_devices_metadata"}}})},
		{"clean", provision("available", object{"target": "provide"})},
		{"deploy the image", l.deploy},
		{"rescue", provision("rescue", object{"target": "rescue", "rescue_password": "secret"})},
		{"unrescue", provision("active", object{"target": "unrescue"})},
		{"delete", l.delete},
		{"deploy by a custom step", l.custom},
		{"delete", l.delete},
	} {
		fmt.Fprintf(l.out, "%6.1f s  %s\n", time.Since(l.begun).Seconds(), step.name)
		try.Within(step.name, func() { step.do(ctx) })
	}
	fmt.Fprintf(l.out, "%6.1f s  done, with %d boots of the agent\n", time.Since(l.begun).Seconds(), l.machine.boots)
	if want := boots[l.fast]; l.machine.boots != want {
		try.Failf("the agent was booted %d times, want %d", l.machine.boots, want)
	}
}

func (l *life) enroll(ctx context.Context, image, sum string) {
	driverInfo := object{"redfish_address": "https://" + l.machine.bmc.Addr, "redfish_system_id": "/redfish/v1/Systems/1",
		"redfish_verify_ca": false,
		"redfish_username":  bmctest.DefaultUser, "redfish_password": bmctest.DefaultPassword, "fast_track": l.fast}
	if l.boot == virtualMedia {
		driverInfo["deploy_iso"] = agentISO
	}
	instanceInfo := object{"image_source": l.files + "/" + image, "image_os_hash_algo": "sha256", "image_os_hash_value": sum,
		"image_disk_format": l.format}
	if l.partition {
		instanceInfo["image_type"], instanceInfo["root_gb"], instanceInfo["swap_mb"] = "partition", 1, swapMiB
	}
	var node struct{ UUID string }
	l.call(ctx, http.MethodPost, "/nodes", object{
		"driver":            "redfish",
		"boot_interface":    l.boot,
		"deploy_interface":  "direct",
		"inspect_interface": "agent",
		"rescue_interface":  "agent",
		"driver_info":       driverInfo,
		"properties":        object{"root_device": object{"serial": "E2E0001"}, "capabilities": "boot_mode:bios"},
		"instance_info":     instanceInfo,
	}, &node)
	l.node = "/nodes/" + node.UUID
	l.call(ctx, http.MethodPost, "/ports", object{"node_uuid": node.UUID, "address": mac}, nil)
	l.provision(ctx, object{"target": "manage"}, "manageable")
}

func (l *life) inspect(ctx context.Context) {
	l.provision(ctx, object{"target": "inspect"}, "manageable")
	var found struct {
		Inventory struct{ Disks []struct{ Serial string } }
	}
	l.call(ctx, http.MethodGet, l.node+"/inventory", nil, &found)
	if len(found.Inventory.Disks) != 1 || found.Inventory.Disks[0].Serial != "E2E0001" {
		try.Failf("not the inventory of the machine: %+v", found)
	}
	if l.fast {
		l.awaitAgent(ctx)
	}
}

// awaitAgent waits until the agent has sent a heartbeat: an agent that has sent its inspection data looks its node up
// next.
func (l *life) awaitAgent(ctx context.Context) {
	for begun := time.Now(); time.Since(begun) < time.Minute && ctx.Err() == nil; sleep.For(ctx, 200*time.Millisecond) {
		var n struct {
			Internal struct {
				AgentURL string `json:"agent_url"`
			} `json:"driver_internal_info"`
		}
		if l.call(ctx, http.MethodGet, l.node, nil, &n); n.Internal.AgentURL != "" {
			return
		}
	}
	try.Failf("the agent sends no heartbeat after the inspection")
}

func (l *life) deploy(ctx context.Context) {
	drive := object{"meta_data": object{"name": "machine"}, "user_data": userData}
	l.provision(ctx, object{"target": "active", "configdrive": drive}, "active")
	if l.partition {
		l.checkPartitions(ctx)
	} else {
		checkWholeDisk(l.machine.disk)
	}
}

func (l *life) custom(ctx context.Context) {
	l.call(ctx, http.MethodPatch, l.node, []object{{"op": "replace", "path": "/deploy_interface", "value": "custom-agent"}}, nil)
	steps := []object{{"interface": "deploy", "step": "write_mark", "args": object{}, "priority": 80}}
	l.provision(ctx, object{"target": "active", "deploy_steps": steps}, "active")
	if !bytes.HasPrefix(content(l.machine.disk, 0, 512), []byte(customMark)) {
		try.Failf("the disk does not begin with the mark of the custom step")
	}
}

// delete deletes the instance, whose disk is then erased.
func (l *life) delete(ctx context.Context) {
	l.provision(ctx, object{"target": "deleted"}, "available")
	if !bytes.Equal(content(l.machine.disk, 0, 1<<20), make([]byte, 1<<20)) {
		try.Failf("the beginning of the disk is not erased")
	}
}

// provision requests a provision state and waits until the node has it. It prints each state and step.
func (l *life) provision(ctx context.Context, request object, want string) {
	l.call(ctx, http.MethodPut, l.node+"/states/provision", request, nil)
	last := ""
	for begun := time.Now(); time.Since(begun) < 10*time.Minute; {
		var n struct {
			State     string                `json:"provision_state"`
			Power     string                `json:"power_state"`
			LastError string                `json:"last_error"`
			Clean     struct{ Step string } `json:"clean_step"`
			Deploy    struct{ Step string } `json:"deploy_step"`
		}
		l.call(ctx, http.MethodGet, l.node, nil, &n)
		if now := fmt.Sprintf("%s %s%s, %s", n.State, n.Clean.Step, n.Deploy.Step, n.Power); now != last {
			fmt.Fprintf(l.out, "%6.1f s      %s\n", time.Since(l.begun).Seconds(), now)
			last = now
		}
		switch n.State {
		case want:
			return
		case "enroll", "error", "clean failed", "inspect failed", "deploy failed", "rescue failed", "unrescue failed":
			try.Failf("the node is in %s: %s", n.State, n.LastError)
		}
		if !sleep.For(ctx, 200*time.Millisecond) {
			try.OK(context.Cause(ctx))
		}
	}
	try.Failf("the node is not in %s after 10 minutes", want)
}

// call sends a request to the API and decodes the answer into a value, unless that is nil.
func (l *life) call(ctx context.Context, method, path string, body, into any) {
	r := try.Get(http.NewRequestWithContext(ctx, method, l.api+path, bytes.NewReader(try.Get(json.Marshal(body)))))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	answer := try.Get(http.DefaultClient.Do(r))
	defer answer.Body.Close()
	content := try.Get(io.ReadAll(answer.Body))
	if answer.StatusCode >= 400 {
		try.Failf("%s %s: status %d: %s", method, path, answer.StatusCode, content)
	}
	if into != nil {
		try.OK(json.Unmarshal(content, into))
	}
}
