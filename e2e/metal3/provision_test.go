// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/states"
)

// hostConfig is the configuration of an instance.
type hostConfig struct{}

func (hostConfig) UserData() (string, error)    { return "#cloud-config\nhostname: rack1-7\n", nil }
func (hostConfig) NetworkData() (string, error) { return "", nil }
func (hostConfig) MetaData() (string, error)    { return "", nil }

// provision provisions the host as the operator does, and returns the error message.
func (s *site) provision(data provisioner.ProvisionData) string {
	s.Helper()
	data.HostConfig, data.BootMode = hostConfig{}, metal3api.UEFI
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) { return p.Provision(data, false) })
}

// deprovision removes the instance.
func (s *site) deprovision() {
	s.Helper()
	require.Empty(s, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) { return p.Deprovision(false) }))
	s.requireState(states.Available)
	require.Equal(s, "Off", s.bmc.Power("1"))
}

// prepared registers and prepares a host without configuration.
func (s *site) prepared() {
	s.Helper()
	require.Empty(s, s.register(false))
	require.Empty(s, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, _, err := p.Prepare(provisioner.PrepareData{}, true, false)
		return result, err
	}))
	s.requireState(states.Manageable)
}

// serve serves one file at every path.
func serve(t *testing.T, content []byte) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestLiveISOIsBooted(t *testing.T) {
	s := start(t)
	s.prepared()
	format := "live-iso"
	iso := serve(t, []byte("iso")) + "/live.iso"
	require.Empty(t, s.provision(provisioner.ProvisionData{Image: metal3api.Image{URL: iso, DiskFormat: &format}}))
	s.requireState(states.Active)
	require.Equal(t, iso, s.bmc.Media("CD"))
	require.Eventually(t, func() bool { return s.machine.Running() == iso }, time.Minute, time.Millisecond)
	s.deprovision()
	require.Empty(t, s.bmc.Media("CD"))
}

func TestCustomDeployStepIsExecuted(t *testing.T) {
	s := start(t, agenttest.Step{Work: "deploy", Interface: "deploy", Name: "install_coreos", Run: func(context.Context, map[string]any) (any, error) { return nil, nil }})
	s.prepared()
	require.Empty(t, s.provision(provisioner.ProvisionData{CustomDeploy: &metal3api.CustomDeploy{Method: "install_coreos"}}))
	s.requireState(states.Active)
	require.Eventually(t, func() bool { return s.machine.Running() == "disk" }, time.Minute, time.Millisecond)
	var sent []string
	for _, c := range s.machine.Commands() {
		if step, ok := c.Params["step"].(map[string]any); ok {
			sent = append(sent, c.Name+" "+step["step"].(string))
		}
	}
	require.Equal(t, []string{"deploy.execute_deploy_step install_coreos"}, sent)
	s.deprovision()
}

func TestUnknownCustomDeployStepFails(t *testing.T) {
	s := start(t)
	s.prepared()
	require.Contains(t, s.provision(provisioner.ProvisionData{
		Image:        metal3api.Image{URL: "http://images.invalid/x", Checksum: "00", ChecksumType: metal3api.SHA256}, // or the operator tries again
		CustomDeploy: &metal3api.CustomDeploy{Method: "install_coreos"},
	}), "install_coreos")
	s.requireState(states.DeployFail)
}

func TestImageAndConfigDriveAreOnTheDisk(t *testing.T) {
	s := start(t)
	s.prepared()
	image := agenttest.Image(4<<20, 7)
	sum := sha256.Sum256(image)
	format := "raw"
	require.Empty(t, s.provision(provisioner.ProvisionData{Image: metal3api.Image{
		URL: serve(t, image) + "/x.raw", DiskFormat: &format, Checksum: hex.EncodeToString(sum[:]), ChecksumType: metal3api.SHA256,
	}}))
	s.requireState(states.Active)
	require.Eventually(t, func() bool { return s.machine.Running() == "disk" }, time.Minute, time.Millisecond)
	disk, err := os.Open(s.machine.Disk)
	require.NoError(t, err)
	defer disk.Close()
	written := make([]byte, len(image))
	_, err = io.ReadFull(disk, written)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image[1<<20:], written[1<<20:]))
	drive, err := s.machine.ConfigDrive()
	require.NoError(t, err)
	require.Contains(t, string(drive), "hostname: rack1-7")
	s.deprovision()
}

func TestBadChecksumFailsTheDeployment(t *testing.T) {
	s := start(t)
	s.prepared()
	format := "raw"
	require.Contains(t, s.provision(provisioner.ProvisionData{Image: metal3api.Image{
		URL: serve(t, agenttest.Image(4<<20, 7)) + "/x.raw", DiskFormat: &format, Checksum: "00", ChecksumType: metal3api.SHA256,
	}}), "Image failed to verify against checksum")
	s.requireState(states.DeployFail)
}

func TestMissingImageFailsTheDeployment(t *testing.T) {
	s := start(t)
	s.prepared()
	format := "raw"
	require.NotEmpty(t, s.provision(provisioner.ProvisionData{Image: metal3api.Image{
		URL: "http://127.0.0.1:1/x.raw", DiskFormat: &format, Checksum: "00", ChecksumType: metal3api.SHA256,
	}}))
	s.requireState(states.DeployFail)
}

func TestFirmwareSettingsAreApplied(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	actual, _, err := s.provisioner().GetFirmwareSettings(false)
	require.NoError(t, err)
	unprepared := true
	require.Empty(t, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, started, err := p.Prepare(provisioner.PrepareData{
			ActualFirmwareSettings: actual, TargetFirmwareSettings: metal3api.DesiredSettingsMap{"BootTimeout": intstr.FromInt32(7)},
		}, unprepared, false)
		unprepared = unprepared && !started
		return result, err
	}))
	s.requireState(states.Manageable)
	require.Equal(t, 7, s.bmc.BIOS("1")["BootTimeout"])
	now, _, err := s.provisioner().GetFirmwareSettings(false)
	require.NoError(t, err)
	require.Equal(t, "7", now["BootTimeout"])
}
