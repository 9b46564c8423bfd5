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

func (l *life) run(ctx context.Context) error {
	source, sum, err := l.image(ctx)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"enroll", func(ctx context.Context) error { return l.enroll(ctx, source, sum) }},
		{"inspect", l.inspect},
		{"clean by the client's steps, with a reboot between two", func(ctx context.Context) error {
			return l.provision(ctx, object{"target": "clean", "clean_steps": []object{
				{"interface": "deploy", "step": "needs_reboot"}, {"interface": "deploy", "step": "erase_devices_metadata"}}}, "manageable")
		}},
		{"clean", func(ctx context.Context) error { return l.provision(ctx, object{"target": "provide"}, "available") }},
		{"deploy the image", l.deploy},
		{"rescue", func(ctx context.Context) error {
			return l.provision(ctx, object{"target": "rescue", "rescue_password": "secret"}, "rescue")
		}},
		{"unrescue", func(ctx context.Context) error { return l.provision(ctx, object{"target": "unrescue"}, "active") }},
		{"delete", l.delete},
		{"deploy by a custom step", l.custom},
		{"delete", l.delete},
	} {
		fmt.Fprintf(l.out, "%6.1f s  %s\n", time.Since(l.begun).Seconds(), step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Fprintf(l.out, "%6.1f s  done, with %d boots of the agent\n", time.Since(l.begun).Seconds(), l.machine.boots)
	if want := boots[l.fast]; l.machine.boots != want {
		return fmt.Errorf("the agent was booted %d times, want %d", l.machine.boots, want)
	}
	return nil
}

func (l *life) enroll(ctx context.Context, image, sum string) error {
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
	err := l.call(ctx, http.MethodPost, "/nodes", object{
		"driver":            "redfish",
		"boot_interface":    l.boot,
		"deploy_interface":  "direct",
		"inspect_interface": "agent",
		"rescue_interface":  "agent",
		"driver_info":       driverInfo,
		"properties":        object{"root_device": object{"serial": "E2E0001"}, "capabilities": "boot_mode:bios"},
		"instance_info":     instanceInfo,
	}, &node)
	if err != nil {
		return err
	}
	l.node = "/nodes/" + node.UUID
	if err := l.call(ctx, http.MethodPost, "/ports", object{"node_uuid": node.UUID, "address": mac}, nil); err != nil {
		return err
	}
	return l.provision(ctx, object{"target": "manage"}, "manageable")
}

func (l *life) inspect(ctx context.Context) error {
	if err := l.provision(ctx, object{"target": "inspect"}, "manageable"); err != nil {
		return err
	}
	var found struct {
		Inventory struct{ Disks []struct{ Serial string } }
	}
	if err := l.call(ctx, http.MethodGet, l.node+"/inventory", nil, &found); err != nil {
		return err
	}
	if len(found.Inventory.Disks) != 1 || found.Inventory.Disks[0].Serial != "E2E0001" {
		return fmt.Errorf("not the inventory of the machine: %+v", found)
	}
	if l.fast {
		return l.awaitAgent(ctx)
	}
	return nil
}

// awaitAgent waits until the agent has sent a heartbeat: an agent that has sent its inspection data looks its node up
// next.
func (l *life) awaitAgent(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < time.Minute && ctx.Err() == nil; sleep.For(ctx, 200*time.Millisecond) {
		var n struct {
			Internal struct {
				AgentURL string `json:"agent_url"`
			} `json:"driver_internal_info"`
		}
		if err := l.call(ctx, http.MethodGet, l.node, nil, &n); err != nil || n.Internal.AgentURL != "" {
			return err
		}
	}
	return fmt.Errorf("the agent sends no heartbeat after the inspection")
}

func (l *life) deploy(ctx context.Context) error {
	drive := object{"meta_data": object{"name": "machine"}, "user_data": userData}
	if err := l.provision(ctx, object{"target": "active", "configdrive": drive}, "active"); err != nil {
		return err
	}
	if l.partition {
		return l.checkPartitions(ctx)
	}
	return checkWholeDisk(l.machine.disk)
}

func (l *life) custom(ctx context.Context) error {
	err := l.call(ctx, http.MethodPatch, l.node, []object{{"op": "replace", "path": "/deploy_interface", "value": "custom-agent"}}, nil)
	if err != nil {
		return err
	}
	steps := []object{{"interface": "deploy", "step": "write_mark", "args": object{}, "priority": 80}}
	if err := l.provision(ctx, object{"target": "active", "deploy_steps": steps}, "active"); err != nil {
		return err
	}
	if !bytes.HasPrefix(content(l.machine.disk, 0, 512), []byte(customMark)) {
		return fmt.Errorf("the disk does not begin with the mark of the custom step")
	}
	return nil
}

// delete deletes the instance, whose disk is then erased.
func (l *life) delete(ctx context.Context) error {
	if err := l.provision(ctx, object{"target": "deleted"}, "available"); err != nil {
		return err
	}
	if !bytes.Equal(content(l.machine.disk, 0, 1<<20), make([]byte, 1<<20)) {
		return fmt.Errorf("the beginning of the disk is not erased")
	}
	return nil
}

// provision requests a provision state and waits until the node has it. It prints each state and step.
func (l *life) provision(ctx context.Context, request object, want string) error {
	if err := l.call(ctx, http.MethodPut, l.node+"/states/provision", request, nil); err != nil {
		return err
	}
	last := ""
	for begun := time.Now(); time.Since(begun) < 10*time.Minute; {
		var n struct {
			State     string                `json:"provision_state"`
			Power     string                `json:"power_state"`
			LastError string                `json:"last_error"`
			Clean     struct{ Step string } `json:"clean_step"`
			Deploy    struct{ Step string } `json:"deploy_step"`
		}
		if err := l.call(ctx, http.MethodGet, l.node, nil, &n); err != nil {
			return err
		}
		if now := fmt.Sprintf("%s %s%s, %s", n.State, n.Clean.Step, n.Deploy.Step, n.Power); now != last {
			fmt.Fprintf(l.out, "%6.1f s      %s\n", time.Since(l.begun).Seconds(), now)
			last = now
		}
		switch n.State {
		case want:
			return nil
		case "enroll", "error", "clean failed", "inspect failed", "deploy failed", "rescue failed", "unrescue failed":
			return fmt.Errorf("the node is in %s: %s", n.State, n.LastError)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("the node is not in %s after 10 minutes", want)
}

// call sends a request to the API and decodes the answer into a value, unless that is nil.
func (l *life) call(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, l.api+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 400 {
		return fmt.Errorf("%s %s: status %d: %s", method, path, answer.StatusCode, content)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}
