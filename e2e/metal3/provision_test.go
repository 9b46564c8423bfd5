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

func (hostConfig) UserData(context.Context) (string, error) {
	return "#cloud-config\nhostname: machine\n", nil
}
func (hostConfig) NetworkData(context.Context) (string, error) { return "", nil }
func (hostConfig) MetaData(context.Context) (string, error)    { return "", nil }

// provision provisions the host as the operator does, and returns the error message.
func (s *site) provision(data provisioner.ProvisionData) string {
	s.Helper()
	data.HostConfig, data.BootMode = hostConfig{}, metal3api.UEFI
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		return p.Provision(s.Context(), data, false)
	})
}

// liveISO boots an ISO image and returns the error message.
func (s *site) liveISO(url string) string {
	s.Helper()
	format := "live-iso"
	return s.provision(provisioner.ProvisionData{Image: metal3api.Image{URL: url, DiskFormat: &format}})
}

// rawImage writes a raw image to the disk and returns the error message.
func (s *site) rawImage(image []byte) string {
	s.Helper()
	sum := sha256.Sum256(image)
	format := "raw"
	return s.provision(provisioner.ProvisionData{Image: metal3api.Image{
		URL: s.serve(image) + "/x.raw", DiskFormat: &format, Checksum: hex.EncodeToString(sum[:]), ChecksumType: metal3api.SHA256,
	}})
}

// custom installs the host by a step of its agent and returns the error message.
func (s *site) custom(step string) string {
	s.Helper()
	return s.provision(provisioner.ProvisionData{CustomDeploy: &metal3api.CustomDeploy{Method: step}})
}

// removeInstance removes the instance and returns the error message.
func (s *site) removeInstance(failed bool) string {
	s.Helper()
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, err := p.Deprovision(s.Context(), failed, s.cleaning)
		failed = false
		return result, err
	})
}

// deprovision removes the instance.
func (s *site) deprovision() {
	s.Helper()
	require.Empty(s, s.removeInstance(false))
	s.requireState(states.Available)
	require.Equal(s, "Off", s.bmc.Power("1"))
}

// requireRunning waits until the machine runs a disk or an image.
func (s *site) requireRunning(what string) {
	s.Helper()
	s.await(func() bool { return s.machine.Running() == what })
}

// prepare prepares the host as the operator does, and returns the error message. After a failure it starts again.
func (s *site) prepare(data provisioner.PrepareData, failed bool) string {
	s.Helper()
	unprepared := true
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, started, err := p.Prepare(s.Context(), data, unprepared, failed)
		unprepared = unprepared && !started
		return result, err
	})
}

// configure sets the BIOS setting BootTimeout and returns the error message.
func (s *site) configure(failed bool) string {
	s.Helper()
	actual, _, err := s.provisioner().GetFirmwareSettings(s.Context(), false)
	require.NoError(s, err)
	return s.prepare(provisioner.PrepareData{
		ActualFirmwareSettings: actual, TargetFirmwareSettings: metal3api.DesiredSettingsMap{"BootTimeout": intstr.FromInt32(7)},
	}, failed)
}

// prepared registers and prepares a host without configuration.
func (s *site) prepared() {
	s.Helper()
	require.Empty(s, s.register(false))
	require.Empty(s, s.prepare(provisioner.PrepareData{}, false))
	s.requireState(states.Manageable)
}

// serve serves one file at every path.
func (s *site) serve(content []byte) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			s.reach("image")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	s.Cleanup(server.Close)
	return server.URL
}

func TestLiveISOIsBooted(t *testing.T) {
	s := start(t)
	s.prepared()
	iso := s.serve([]byte("iso")) + "/live.iso"
	require.Empty(t, s.liveISO(iso))
	s.requireState(states.Active)
	require.Equal(t, iso, s.bmc.Media("CD"))
	s.requireRunning(iso)
	s.deprovision()
	require.Empty(t, s.bmc.Media("CD"))
}

func TestCustomDeployStepIsExecuted(t *testing.T) {
	s := start(t, agenttest.Step{Work: "deploy", Interface: "deploy", Name: "install_coreos",
		Run: func(context.Context, map[string]any) (any, error) { return nil, nil }})
	s.prepared()
	require.Empty(t, s.custom("install_coreos"))
	s.requireState(states.Active)
	s.requireRunning("disk")
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
		Image: metal3api.Image{URL: "http://images.invalid/x", Checksum: "00",
			ChecksumType: metal3api.SHA256}, // or the operator tries again
		CustomDeploy: &metal3api.CustomDeploy{Method: "install_coreos"},
	}), "install_coreos")
	s.requireState(states.DeployFail)
}

func TestImageAndConfigDriveAreOnTheDisk(t *testing.T) {
	s := start(t)
	s.prepared()
	image := agenttest.Image(4<<20, 7)
	require.Empty(t, s.rawImage(image))
	s.requireState(states.Active)
	s.requireRunning("disk")
	disk, err := os.Open(s.machine.Disk)
	require.NoError(t, err)
	defer disk.Close()
	written := make([]byte, len(image))
	_, err = io.ReadFull(disk, written)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image[1<<20:], written[1<<20:]))
	drive, err := s.machine.ConfigDrive()
	require.NoError(t, err)
	require.Contains(t, string(drive), "hostname: machine")
	s.deprovision()
}

func TestBadChecksumFailsTheDeployment(t *testing.T) {
	s := start(t)
	s.prepared()
	format := "raw"
	require.Contains(t, s.provision(provisioner.ProvisionData{Image: metal3api.Image{
		URL: s.serve(agenttest.Image(4<<20, 7)) + "/x.raw", DiskFormat: &format, Checksum: "00", ChecksumType: metal3api.SHA256,
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
	require.Empty(t, s.configure(false))
	s.requireState(states.Manageable)
	require.Equal(t, 7, s.bmc.BIOS("1")["BootTimeout"])
	now, _, err := s.provisioner().GetFirmwareSettings(s.Context(), false)
	require.NoError(t, err)
	require.Equal(t, "7", now["BootTimeout"])
}
