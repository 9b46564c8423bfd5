// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// SECURITY.md: An agent gets the passwords of the image it writes, and no others.
func TestTheAgentIsSentTheImageOfTheInstance(t *testing.T) {
	const source, shown = "http://u:hunter2@images.example/x.raw", "http://u:******@images.example/x.raw"
	for name, c := range map[string]struct {
		info map[string]any // the keys of instance_info beside image_source
		want map[string]any // the keys of image_info beyond the ones that every image has
	}{
		"qcow2": {
			map[string]any{"image_disk_format": "qcow2", "image_os_hash_algo": "sha512", "image_os_hash_value": "5f"},
			map[string]any{"disk_format": "qcow2", "os_hash_algo": "sha512", "os_hash_value": "5f"},
		},
		"a checksum by its URL, a configuration drive by its URL": {
			map[string]any{"image_checksum": "http://images.example/SHA256SUMS", "configdrive": "http://images.example/drive"},
			map[string]any{"disk_format": nil, "checksum": "http://images.example/SHA256SUMS", "configdrive": "http://images.example/drive"},
		},
		"proxies": {
			map[string]any{"image_checksum": "d41d"},
			map[string]any{
				"disk_format": nil,
				"checksum":    "d41d",
				"proxies":     map[string]any{"http": "http://u:p@proxy:3128"},
				"no_proxy":    ".example",
			},
		},
		"a partition image": {
			map[string]any{"image_checksum": "d41d", "image_type": "partition", "root_gb": 10},
			map[string]any{
				"disk_format": nil, "checksum": "d41d", "image_type": "partition", "kernel": nil,
				"ramdisk": nil, "root_gb": 10.0, "root_mb": 10240.0, "swap_mb": 0.0,
				"ephemeral_mb": 0.0, "ephemeral_format": nil, "preserve_ephemeral": false,
				"deploy_boot_mode": "uefi", "boot_option": "local", "disk_label": "gpt",
			},
		},
		"a partition image with a kernel, swap and an ephemeral partition": {
			map[string]any{
				"image_checksum": "d41d", "kernel": "http://images.example/k",
				"ramdisk": "http://images.example/r", "root_gb": "10", "swap_mb": 512, "ephemeral_gb": "2",
				"preserve_ephemeral": "True", "capabilities": `{"boot_mode": "bios"}`,
			},
			map[string]any{
				"disk_format": nil, "checksum": "d41d", "image_type": "partition",
				"kernel": "http://images.example/k", "ramdisk": "http://images.example/r", "root_gb": "10",
				"root_mb": 10240.0, "swap_mb": 512.0, "ephemeral_mb": 2048.0, "ephemeral_format": "ext4",
				"preserve_ephemeral": true, "deploy_boot_mode": "bios", "boot_option": "local",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Available, nil)
				_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
					n.InstanceInfo = map[string]any{"image_source": source}
					maps.Copy(n.InstanceInfo, c.info)
					if c.want["proxies"] != nil {
						n.DriverInfo = map[string]any{"image_http_proxy": "http://u:p@proxy:3128", "image_no_proxy": ".example"}
					}
					return nil
				})
				require.NoError(t, err)
				m.request(m.n, "active")
				m.requireState(m.settle(m.n), states.DeployWait, "")
				m.requireState(m.boot(), states.DeployWait, "")
				args := m.agent.params[1]["step"].(map[string]any)["args"].(map[string]any)
				want := map[string]any{"id": "x.raw", "urls": []any{source}, "container_format": nil, "stream_raw_images": true, "node_uuid": m.n.UUID}
				maps.Copy(want, c.want)
				require.Equal(t, want, args["image_info"])
				require.Equal(t, c.info["configdrive"], args["configdrive"])
				record := m.agent.params[1]["node"].(map[string]any)
				require.Equal(t, shown, record["instance_info"].(map[string]any)["image_source"], "only write_image needs the password")
				require.NotContains(t, fmt.Sprint(m.agent.params[0]), "hunter2")
				require.NotContains(t, fmt.Sprint(record["driver_info"]), "u:p@")
			})
		})
	}
}

// imageServer is fake-hardware that provides an image, or none and an error.
type imageServer struct {
	*conductor.Fake
	image  conductor.InstanceImage
	err    error
	called func(ctx context.Context, n *conductor.Node) // nil for nothing
}

func (s imageServer) PrepareImage(ctx context.Context, n *conductor.Node) (conductor.InstanceImage, error) {
	if s.called != nil {
		s.called(ctx, n)
	}
	return s.image, s.err
}

// withImage gives the nodes of a conductor the hardware type imageServer.
func withImage(s imageServer) func(*conductor.Config) {
	return func(c *conductor.Config) {
		s.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
		c.Hardware = map[string]conductor.Hardware{"fake-hardware": s}
	}
}

func TestAnImageIsPreparedOnceBeforeTheStepsOfADeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		m := startMachine(t, states.Available, withImage(imageServer{
			image: conductor.InstanceImage{Source: "http://conductor/x", Checksum: "d41d"}, called: func(_ context.Context, n *conductor.Node) {
				did = append(did, "image, step "+n.Step().String())
			},
		}))
		m.before(func(_ context.Context, n *conductor.Node, operation string) error {
			if operation == "prepare" {
				did = append(did, "boot, step "+n.Step().String())
			}
			return nil
		})
		priority := 150 // before deploy.deploy
		r := m.provision("active")
		r.DeploySteps = []conductor.StepRequest{{Interface: "deploy", Step: "power_on", Priority: &priority}}
		require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
		m.settle(m.n)
		m.requireState(m.boot(), states.DeployWait, "")
		m.end("SUCCEEDED", "")
		bubble.Sleep(time.Minute) // the agent powers its machine off
		m.requireState(m.settle(m.n), states.Active, "")
		require.Equal(t, []string{"image, step ", "boot, step deploy.deploy"}, did)
	})
}

func TestAConductorThatIsStoppedEndsThePreparationOfAnImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := imageServer{
			Fake:   &conductor.Fake{},
			err:    errors.New("the download was cut off"),
			called: func(ctx context.Context, _ *conductor.Node) { <-ctx.Done() },
		}
		c, err := conductor.New(conductor.Config{
			Store:           &conductor.Memory{},
			Name:            "alpha",
			SkipPowerSync:   true,
			ShutdownTimeout: time.Second,
			Hardware:        map[string]conductor.Hardware{"fake-hardware": hardware},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		require.NoError(t, c.Ready(ctx))
		n, err := c.CreateNode(ctx, &conductor.Node{
			Driver:         "fake-hardware",
			ProvisionState: states.Available,
			Interfaces:     map[string]string{"deploy": "direct", "management": "noop"},
			InstanceInfo:   instanceInfo(),
		})
		require.NoError(t, err)
		require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "active"}))
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		n, err = c.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, states.DeployFail, n.ProvisionState)
		require.NotContains(t, n.LastError, "the download was cut off")
	})
}

func TestAHardwareTypeProvidesTheImage(t *testing.T) {
	deploy := func(t *testing.T, source string, change func(*conductor.Fake) conductor.Hardware) *agentNode {
		m := startMachine(t, states.Available, func(c *conductor.Config) {
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": change(c.Hardware["fake-hardware"].(*conductor.Fake))}
		})
		_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
			n.InstanceInfo["image_source"], n.InstanceInfo["image_checksum"] = source, "d41d"
			return nil
		})
		require.NoError(t, err)
		m.request(m.n, "active")
		m.n = m.settle(m.n)
		return m
	}
	synctest.Test(t, func(t *testing.T) {
		copied := conductor.InstanceImage{Source: "http://conductor/x", Algorithm: "sha256", Hash: "5f"}
		m := deploy(t, "file:///x", func(f *conductor.Fake) conductor.Hardware { return imageServer{Fake: f, image: copied} })
		m.requireState(m.boot(), states.DeployWait, "")
		image := m.agent.params[1]["step"].(map[string]any)["args"].(map[string]any)["image_info"].(map[string]any)
		require.Equal(t, []any{"http://conductor/x"}, image["urls"])
		require.Equal(t, "sha256", image["os_hash_algo"])
		require.Equal(t, "5f", image["os_hash_value"])
		require.NotContains(t, image, "checksum", "the copy may have another one than the original")
	})
	synctest.Test(t, func(t *testing.T) {
		m := deploy(t, "file:///x", func(f *conductor.Fake) conductor.Hardware {
			return imageServer{Fake: f, err: errors.New("no space is left")}
		})
		m.requireState(m.n, states.DeployFail, "Failed to prepare to deploy: no space is left")
		require.Equal(t, []string{"ERROR deploying: Failed to prepare to deploy: no space is left"}, m.texts(m.n), "no step has begun")
	})
	synctest.Test(t, func(t *testing.T) {
		m := deploy(t, "file:///x", func(f *conductor.Fake) conductor.Hardware { return f })
		m.requireState(m.n, states.DeployFail,
			"Failed to prepare to deploy: Driver fake-hardware cannot serve the image of node "+m.n.UUID+" to its agent.")
	})
}

func TestAnImageThatTheAgentCannotWriteIsRefused(t *testing.T) {
	for _, n := range []*conductor.Node{
		{InstanceInfo: map[string]any{"image_source": "oci://x/y", "image_checksum": "d41d"}},
		{InstanceInfo: map[string]any{"image_source": "http://h/x"}},
		{
			InstanceInfo: map[string]any{"image_source": "http://h/x", "image_checksum": "d41d"},
			Deployment:   conductor.DeploymentInfo{WholeDisk: new(bool)}, // without a size
		},
	} {
		_, err := n.InstanceImage("")
		require.ErrorIs(t, err, conductor.Invalid)
	}
}

func TestANodeNamesTheImageOfItsInstance(t *testing.T) {
	n := &conductor.Node{InstanceInfo: map[string]any{
		"image_source": "http://h/x", "image_os_hash_algo": "sha512", "image_os_hash_value": "5f", "image_checksum": "d41d",
	}}
	image, err := n.InstanceImage("local")
	require.NoError(t, err)
	require.Equal(t, conductor.InstanceImage{Source: "http://h/x", Local: true, Algorithm: "sha512", Hash: "5f", Checksum: "d41d"}, image)
}
