// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

const (
	mac         = "52:54:00:00:00:07"
	nodeUUID    = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	deployLimit = 10 * time.Minute
)

// discs are the targets of a boot override that stand for the virtual CD.
var discs = []string{"Cd", "UsbCd", "CD/DVD"}

// deploy installs an image on the machine of a BMC: the conductor boots an agent from the virtual CD, the agent writes
// the image to its disk, and the machine boots from it.
func deploy(ctx context.Context, _ *bmc.Driver, t *tree) string {
	ctx, cancel := context.WithTimeout(ctx, deployLimit)
	defer cancel()
	folder := try.Get(os.MkdirTemp("", "vendors"))
	defer func() { _ = os.RemoveAll(folder) }()
	image := agenttest.Image(3<<20, 7)
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/image.raw":
			_, _ = w.Write(image)
		case "/agent.iso": // only the BMC would load it
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer web.Close()
	machine := try.Get(agenttest.New(agenttest.Config{
		API: web.URL, MACs: []string{mac}, DiskSize: 80 << 20, PowerOff: t.powerOff,
		Boots: func(_ context.Context, source, image string) (string, bool) {
			return "", image != "" && slices.Contains(discs, source)
		},
	}))
	defer try.Finally(machine.Close)
	t.watch(machine.Power)
	defer t.watch(nil)

	c, end := newConductor()
	defer end()
	handler = api.New(c, api.Config{})
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(run) }()
	defer func() {
		stop()
		<-ended
	}()
	try.OK(c.Ready(ctx))
	request(ctx, c, t, web.URL, folder, image)
	if err := try.Catch(func() { deployed(ctx, c) }); err != nil { // without the address
		try.Failf("%s", strings.ReplaceAll(err.Error(), "redfish "+t.server.Listener.Addr().String()+": ", ""))
	}
	for machine.Running() != "disk" {
		try.OKf(wait(ctx), "the machine runs %q, and not its disk", machine.Running())
	}
	if !bytes.Equal(try.Get(os.ReadFile(machine.Disk))[512:len(image)], image[512:]) {
		try.Failf("the image is not on the disk")
	}
	if t.inserted() != "" {
		try.Failf("%s is still inserted", t.inserted())
	}
	return "yes"
}

// newConductor returns a conductor of Redfish nodes and a function that closes its connections.
func newConductor() (*conductor.Conductor, func()) {
	redfish := try.Get(hardware.NewRedfish(hardware.Config{Client: try.Get(images.NewClient("127.0.0.1"))}))
	c := try.Get(conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Name: "vendors", Hardware: map[string]conductor.Hardware{"redfish": redfish},
		SkipPowerSync: true, CheckInterval: 50 * time.Millisecond, LockedInterval: 10 * time.Millisecond, LockedRetries: 500,
		Agent:        agent.Config{PollInterval: 10 * time.Millisecond},
		AgentAddress: conductor.AgentNetworks{netip.MustParsePrefix("127.0.0.0/8")}.Check,
	}))
	return c, func() { _ = redfish.Close(context.Background()) }
}

// request enrolls the machine, whose certificate it stores in the folder, and requests its deployment with the image.
func request(ctx context.Context, c *conductor.Conductor, t *tree, web, folder string, image []byte) {
	authority := filepath.Join(folder, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: t.server.Certificate().Raw})
	try.OK(os.WriteFile(authority, text, 0o600))
	try.Get(c.CreateNode(ctx, &conductor.Node{
		UUID: nodeUUID, Driver: "redfish", ProvisionState: states.Available,
		Interfaces: map[string]string{"boot": "redfish-virtual-media", "deploy": "direct"},
		DriverInfo: map[string]any{
			"redfish_address": t.server.URL, "redfish_username": user, "redfish_password": password,
			"redfish_verify_ca": authority, "deploy_iso": web + "/agent.iso",
		},
		InstanceInfo: map[string]any{
			"image_source": web + "/image.raw", "image_disk_format": "raw",
			"image_os_hash_algo": "sha256", "image_os_hash_value": fmt.Sprintf("%x", sha256.Sum256(image)),
		},
	}))
	try.Get(c.CreateObject(ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: nodeUUID}, Address: mac}))
	try.OK(c.Provision(ctx, nodeUUID, conductor.ProvisionRequest{Target: "active", Version: c.Table().Series().MaxAPIVersion()}))
}

// deployed waits for the end of the deployment. The error is the node's, if it has failed.
func deployed(ctx context.Context, c *conductor.Conductor) {
	for {
		n := try.Get(c.Node(ctx, nodeUUID))
		switch {
		case n.Reservation == "" && n.ProvisionState == states.Active:
			return
		case n.Reservation == "" && n.CleanUp == nil && n.ProvisionState == states.DeployFail:
			failed, _, _ := strings.Cut(n.LastError, ". Also failed to clean up")
			try.Failf("%s", strings.TrimSuffix(failed, "."))
		}
		try.OKf(wait(ctx), "the node is in %q", n.ProvisionState)
	}
}

// wait waits for a moment. It returns an error if the context ends.
func wait(ctx context.Context) error {
	if !sleep.For(ctx, 5*time.Millisecond) {
		return context.Cause(ctx)
	}
	return nil
}
