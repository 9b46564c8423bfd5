// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// machines are the machines of the nodes with agents. They outlive the conductors.
type machines struct {
	web    *httptest.Server // the images, and the API for the agents
	images map[string][]byte
	sums   []string // the keys of images
	all    []*machine
}

// machine is the machine of one node.
type machine struct {
	*agenttest.Machine
	site      *machines
	bmc       *bmctest.Redfish
	node, mac string

	mu    sync.Mutex
	steps []history.Step
}

// agentISO is the medium from which a machine boots its agent. Nothing downloads it.
const agentISO = "http://images.invalid/agent.iso"

// maxSessions is the number of sessions of a BMC. The sessions of killed conductors remain open.
const maxSessions = 1000

// heartbeat is the time between two heartbeats of an agent.
const heartbeat = 500 * time.Millisecond

// start starts machines that are off, one for each node, with their disks in dir. Their agents send each request
// to a random conductor.
func (all *machines) start(dir string, nodes []string, conductors []*conductorProcess) {
	for seed := range byte(4) {
		image := agenttest.Image(3<<20, seed)
		sum := fmt.Sprintf("%x", sha256.Sum256(image))
		all.images[sum], all.sums = image, append(all.sums, sum)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/images/{sum}", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(all.images[r.PathValue("sum")]) })
	mux.Handle("/", anyConductor(conductors))
	all.web = httptest.NewServer(mux)
	for i, node := range nodes {
		m := &machine{site: all, node: node, mac: fmt.Sprintf("52:54:00:00:%02x:%02x", i>>8, i&0xff)}
		m.Machine = try.Get(agenttest.New(agenttest.Config{
			API: all.web.URL, MACs: []string{m.mac}, Disk: filepath.Join(dir, "disk-"+node), Heartbeat: heartbeat,
			Inspection: true, Collect: hostileInventory, Version: "9.4.3" + hostileText, Steps: m.agentSteps(),
			PowerOff: func() { _ = m.bmc.SetPower("1", "Off") },
		}))
		all.all = append(all.all, m)
		m.bmc = try.Get(bmctest.NewRedfish(bmctest.RedfishConfig{
			Systems:     []bmctest.System{{ID: "1", Hardware: bmctest.Hardware{MACs: []string{m.mac}}, OnPower: m.Power}},
			MaxSessions: maxSessions,
		}))
	}
}

// nodes returns the UUIDs of the machines' nodes.
func (m *machines) nodes() []string {
	var all []string
	for _, one := range m.all {
		all = append(all, one.node)
	}
	return all
}

// close ends the agents, the BMCs and the server of the images.
func (m *machines) close() error {
	var errs []error
	for _, one := range m.all {
		if one.bmc != nil {
			errs = append(errs, one.bmc.Close())
		}
		errs = append(errs, one.Close())
	}
	if m.web != nil {
		m.web.Close()
	}
	return errors.Join(errs...)
}

// anyConductor forwards each request to a random conductor.
func anyConductor(conductors []*conductorProcess) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", conductors[rand.IntN(len(conductors))].at.get()
		},
		Transport:    &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: operatorTimeout},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
}

// rebootingStep is a step of each cleaning after which the machine is booted again.
const rebootingStep = "update_firmware"

// hostileText moves a terminal's cursor.
const hostileText = "\x1b[2J"

// hostileResult is a result of a step that has 2 MiB as JSON.
var hostileResult = strings.Repeat(hostileText, 1<<18)

// hostileInventory adds the hostile text to inspection data.
func hostileInventory(data map[string]any) {
	inventory := data["inventory"].(map[string]any)
	inventory["cpu"] = map[string]any{"architecture": "x86_64" + hostileText}
	inventory[hostileText] = []any{map[string]any{hostileText: hostileText}}
	data[hostileText] = hostileText
}

// agentSteps returns the steps of the machine's agent beside the built-in ones. The last ones have lower
// priorities than the built-in steps.
func (m *machine) agentSteps() (steps []agenttest.Step) {
	for _, s := range []agenttest.Step{
		{Work: "clean", Name: rebootingStep, Priority: 50, Reboot: true, Abortable: true},
		{Work: "clean", Name: history.CleanedStep, Priority: 5, Abortable: true},
		{Work: "deploy", Name: history.DeployedStep, Priority: 70},
		{Work: "service", Name: rebootingStep, Reboot: true, Abortable: true},
	} {
		s.Interface = "deploy"
		s.Run = func(ctx context.Context, _ map[string]any) (any, error) {
			disk, err := m.disk()
			if err != nil {
				return nil, err
			}
			m.mu.Lock()
			m.steps = append(m.steps, history.Step{Name: s.Name, At: time.Now(), Disk: disk})
			m.mu.Unlock()
			if !sleep.For(ctx, rand.N(fakeDelay)) {
				return nil, ctx.Err()
			}
			if rand.IntN(4) == 0 {
				return hostileResult, nil
			}
			return "done", nil
		}
		steps = append(steps, s)
	}
	return steps
}

// disk returns the digest of the image that is on the disk, "" for an erased disk.
func (m *machine) disk() (string, error) {
	file, err := os.Open(m.Disk)
	if err != nil {
		return "", err
	}
	defer file.Close()
	begin := make([]byte, 8<<20)
	if _, err := io.ReadFull(file, begin); err != nil {
		return "", err
	}
	for sum, image := range m.site.images {
		if bytes.HasPrefix(begin, image) {
			return sum, nil
		}
	}
	if bytes.Equal(begin, make([]byte, len(begin))) {
		return "", nil
	}
	return "something else", nil
}

// history returns what the machine's agents have done.
func (m *machine) history() (history.Machine, error) {
	disk, err := m.disk()
	m.mu.Lock()
	defer m.mu.Unlock()
	return history.Machine{Steps: m.steps, Disk: disk}, err
}

// redfishInfo returns the part of driver_info that names a BMC.
func redfishInfo(address, password string) map[string]any {
	return map[string]any{
		"redfish_address": "https://" + address, "redfish_system_id": "/redfish/v1/Systems/1", "redfish_verify_ca": false,
		"redfish_username": bmctest.DefaultUser, "redfish_password": password,
	}
}

// enroll creates the node of a machine and its port by requests of a client.
func (m *machines) enroll(ctx context.Context, c *client, i int) {
	one := m.all[i]
	info := redfishInfo(one.bmc.Addr, bmctest.DefaultPassword)
	info["deploy_iso"], info["fast_track"] = agentISO, i%2 == 1
	for _, object := range []struct {
		path string
		body map[string]any
	}{
		{"/v1/nodes", map[string]any{
			"uuid": one.node, "name": fmt.Sprintf("machine-%d", i), "driver": "redfish", "boot_interface": "redfish-virtual-media",
			"deploy_interface": "direct", "inspect_interface": "agent", "rescue_interface": "agent",
			"driver_info": info,
		}},
		{"/v1/ports", map[string]any{"node_uuid": one.node, "address": one.mac}},
	} {
		try.OKf(c.create(ctx, c.anyHost(), object.path, string(try.Get(json.Marshal(object.body)))), "create machine %d", i)
	}
}
