// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
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
func deploy(ctx context.Context, _ *bmc.Driver, t *tree) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, deployLimit)
	defer cancel()
	folder, err := os.MkdirTemp("", "vendors")
	if err != nil {
		return "", err
	}
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
	machine, err := agenttest.New(agenttest.Config{
		API: web.URL, MACs: []string{mac}, DiskSize: 80 << 20, PowerOff: t.powerOff,
		Boots: func(_ context.Context, source, image string) (string, bool) {
			return "", image != "" && slices.Contains(discs, source)
		},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, machine.Close()) }()
	t.watch(machine.Power)
	defer t.watch(nil)

	c, end, err := newConductor()
	if err != nil {
		return "", err
	}
	defer end()
	handler = api.New(c, api.Config{})
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(run) }()
	defer func() {
		stop()
		<-ended
	}()
	if err := c.Ready(ctx); err != nil {
		return "", err
	}
	if err := request(ctx, c, t, web.URL, folder, image); err != nil {
		return "", err
	}
	if err := deployed(ctx, c); err != nil { // without the address
		return "", errors.New(strings.ReplaceAll(err.Error(), "redfish "+t.server.Listener.Addr().String()+": ", ""))
	}
	for machine.Running() != "disk" {
		if err := wait(ctx); err != nil {
			return "", fmt.Errorf("the machine runs %q, and not its disk: %w", machine.Running(), err)
		}
	}
	disk, err := os.ReadFile(machine.Disk)
	switch {
	case err != nil:
		return "", err
	case !bytes.Equal(disk[512:len(image)], image[512:]):
		return "", errors.New("the image is not on the disk")
	case t.inserted() != "":
		return "", fmt.Errorf("%s is still inserted", t.inserted())
	}
	return "yes", nil
}

// newConductor returns a conductor of Redfish nodes and a function that closes its connections.
func newConductor() (*conductor.Conductor, func(), error) {
	client, err := images.NewClient("127.0.0.1")
	if err != nil {
		return nil, nil, err
	}
	redfish, err := hardware.NewRedfish(hardware.Config{Client: client})
	if err != nil {
		return nil, nil, err
	}
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Name: "vendors", Hardware: map[string]conductor.Hardware{"redfish": redfish},
		SkipPowerSync: true, CheckInterval: 50 * time.Millisecond, LockedInterval: 10 * time.Millisecond, LockedRetries: 500,
		Agent:        agent.Config{PollInterval: 10 * time.Millisecond},
		AgentAddress: conductor.AgentNetworks{netip.MustParsePrefix("127.0.0.0/8")}.Check,
	})
	return c, func() { _ = redfish.Close(context.Background()) }, err
}

// request enrolls the machine, whose certificate it stores in the folder, and requests its deployment with the image.
func request(ctx context.Context, c *conductor.Conductor, t *tree, web, folder string, image []byte) error {
	authority := filepath.Join(folder, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: t.server.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		return err
	}
	_, err := c.CreateNode(ctx, &conductor.Node{
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
	})
	if err != nil {
		return err
	}
	if _, err := c.CreateObject(ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: nodeUUID}, Address: mac}); err != nil {
		return err
	}
	return c.Provision(ctx, nodeUUID, conductor.ProvisionRequest{Target: "active", Version: c.Table().Series().MaxAPIVersion()})
}

// deployed waits for the end of the deployment. The error is the node's, if it has failed.
func deployed(ctx context.Context, c *conductor.Conductor) error {
	for {
		n, err := c.Node(ctx, nodeUUID)
		switch {
		case err != nil:
			return err
		case n.Reservation == "" && n.ProvisionState == states.Active:
			return nil
		case n.Reservation == "" && n.CleanUp == nil && n.ProvisionState == states.DeployFail:
			failed, _, _ := strings.Cut(n.LastError, ". Also failed to clean up")
			return errors.New(strings.TrimSuffix(failed, "."))
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("the node is in %q: %w", n.ProvisionState, err)
		}
	}
}

// wait waits for a moment. It returns an error if the context ends.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}
