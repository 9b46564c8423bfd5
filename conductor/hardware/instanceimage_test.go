// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/states"
)

// part returns a part of the machine's disk.
func (l *lab) part(start, size int64) []byte {
	l.t.Helper()
	disk, err := os.Open(l.machine.Disk)
	require.NoError(l.t, err)
	defer disk.Close()
	content, err := io.ReadAll(io.NewSectionReader(disk, start, size))
	require.NoError(l.t, err)
	return content
}

// deploy requests a deployment with an instance_info and a driver_info in addition to the machine's, and waits for its
// end.
func (l *lab) deploy(info, driver map[string]any, drive any) *conductor.Node {
	l.t.Helper()
	_, err := l.UpdateNode(l.t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.InstanceInfo = info
		maps.Copy(n.DriverInfo, driver)
		return nil
	})
	require.NoError(l.t, err)
	l.ask(conductor.ProvisionRequest{Target: "active", ConfigDrive: drive})
	return l.until(states.Active, states.DeployFail)
}

// requireNoImages requires that no image is published for the node.
func (l *lab) requireNoImages() {
	l.t.Helper()
	published, err := l.images.Published(l.n.UUID)
	require.NoError(l.t, err)
	require.Empty(l.t, published)
}

func TestEachKindOfImageIsOnTheDiskAfterwards(t *testing.T) {
	type object = map[string]any
	raw := agenttest.Image(3<<20, 7)
	qcow2 := agenttest.QCOW2(raw)
	root := bytes.Repeat([]byte("a root file system "), 1<<16)
	iso, err := bootimage.ConfigDrive(map[string][]byte{"openstack/latest/user_data": []byte("a text")}, t.TempDir())
	require.NoError(t, err)
	var text bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &text)
	zip := gzip.NewWriter(encoder)
	_, err = zip.Write(iso)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.NoError(t, encoder.Close())
	sums := fmt.Sprintf("%x  other\n%x  x.qcow2\n%x *x.raw\n", sha256.Sum256(root), sha256.Sum256(qcow2), sha256.Sum256(raw))
	files := map[string][]byte{
		"x.qcow2":    qcow2,
		"x.root":     root,
		"root.qcow2": agenttest.QCOW2(root),
		"SHA256SUMS": []byte(sums),
		"drive":      text.Bytes(),
		"drive.iso":  iso,
	}
	hash := func(content []byte) object {
		return object{"image_os_hash_algo": "sha512", "image_os_hash_value": fmt.Sprintf("%x", sha512.Sum512(content))}
	}
	bios := object{"boot_mode": "bios"}
	drive := object{"user_data": "a text"}
	for name, c := range map[string]struct {
		image      string
		info       object
		driver     object
		drive      any     // its user_data is "a text"; the URL of a file has the service's address before it
		partitions []int64 // the sizes of a partition image's partitions in MiB, the root partition last
	}{
		"raw, configuration drive as an object": {image: "x.raw", info: hash(raw), drive: drive},
		"raw, configuration drive as text": {image: "x.raw", info: object{"image_checksum": fmt.Sprintf("%x", md5.Sum(raw))},
			drive: text.String()},
		"raw, checksum by its URL": {image: "x.raw", info: object{"image_checksum": "/SHA256SUMS"}, drive: "/drive"},
		"raw, hash by its URL": {image: "x.raw", info: object{"image_os_hash_algo": "sha256", "image_os_hash_value": "/SHA256SUMS"},
			drive: "/drive.iso"},
		"raw, format unknown":        {image: "x.raw", info: object{"image_checksum": fmt.Sprintf("%x", md5.Sum(raw)), "image_disk_format": nil}},
		"raw, redirected":            {image: "moved.raw", info: hash(raw)},
		"qcow2":                      {image: "x.qcow2", info: hash(qcow2), drive: drive},
		"qcow2, checksum by its URL": {image: "x.qcow2", info: object{"image_checksum": "/SHA256SUMS"}},
		"local":                      {image: "x.raw", info: hash(raw), driver: object{"image_download_source": "local"}, drive: drive},
		"local, qcow2 with a checksum by its URL": {image: "x.qcow2",
			info: object{"image_checksum": "/SHA256SUMS", "image_download_source": "local"}},
		"local, MD5": {image: "x.raw", info: object{"image_checksum": fmt.Sprintf("%x", md5.Sum(raw)), "image_download_source": "local"}},
		"partition":  {image: "x.root", info: hash(root), drive: drive, partitions: []int64{200, 1, 1024}},
		"partition, all sizes, local": {image: "x.root", info: object{"image_download_source": "local", "swap_mb": 3, "ephemeral_gb": 1},
			driver: nil, partitions: []int64{200, 1024, 3, 1024}},
		"partition, qcow2, BIOS": {image: "root.qcow2", info: object{"capabilities": bios}, drive: drive, partitions: []int64{1, 1024}},
		"partition, BIOS, disk label": {
			image: "x.root", info: object{"capabilities": object{"boot_mode": "bios", "disk_label": "gpt"}}, partitions: []int64{1, 1024},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, states.Available, "direct", func(c *agenttest.Config) { c.DiskSize = 3 << 30 })
			l.files = files
			info := object{"image_source": l.web + "/images/" + c.image, "image_disk_format": "raw"}
			if bytes.HasPrefix(files[c.image], []byte("QFI")) {
				info["image_disk_format"] = "qcow2"
			}
			if c.partitions != nil {
				maps.Copy(info, hash(files[c.image]))
				info["image_type"], info["root_gb"] = "partition", 1
			}
			maps.Copy(info, c.info)
			for key, value := range info {
				if text, ok := value.(string); ok && text[0] == '/' {
					info[key] = l.web + "/images" + text
				}
			}
			if address, ok := c.drive.(string); ok && address[0] == '/' {
				c.drive = l.web + "/images" + address
			}
			n := l.deploy(info, c.driver, c.drive)
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			if c.partitions == nil {
				require.True(t, bytes.Equal(raw[512:], l.part(512, int64(len(raw))-512)), "the image is on the disk")
			} else {
				var sizes []int64
				partitions, err := l.machine.Partitions()
				require.NoError(t, err)
				for _, p := range partitions {
					sizes = append(sizes, p.Size>>20)
				}
				require.Equal(t, c.partitions, sizes)
				require.True(t, bytes.Equal(root, l.part(partitions[len(sizes)-1].Start, int64(len(root)))), "the image is in the root partition")
			}
			written, err := l.machine.ConfigDrive()
			if c.drive == nil {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
				require.Equal(t, "a text", readISO(t, written)["openstack/latest/user_data"])
			}
			l.requireRuns("disk")
			l.requireNoImages()
		})
	}
}

func TestAnImageThatCannotBeProvidedFailsBeforeTheMachineBoots(t *testing.T) {
	for name, c := range map[string]struct {
		info map[string]any
		want string
	}{
		"gone": {map[string]any{"image_source": "/none.raw"},
			"Failed to prepare to deploy: Validation of image href http://u:******@%s/images/none.raw failed, reason: " +
				"Got HTTP code 404 instead of 200 in response to HEAD request."},
		"elsewhere": {map[string]any{"image_source": "/elsewhere.raw"},
			"failed, reason: it redirects to 169.254.169.254:80, which is neither the same host and port nor allowed"},
		"at a malformed URL": {map[string]any{"image_source": "/malformed.raw"}, "failed, reason: it redirects to a malformed URL"},
		"local, elsewhere": {map[string]any{"image_source": "/elsewhere.raw", "image_checksum": "d41d8cd98f00b204e9800998ecf8427e",
			"image_download_source": "local"}, "it redirects to 169.254.169.254:80, which"},
		"checksum elsewhere": {map[string]any{"image_checksum": "/elsewhere.raw", "image_download_source": "local"},
			"load the checksum of the image: download from 127.0.0.1"},
		"local, gone": {map[string]any{"image_source": "/none.raw", "image_checksum": "d41d8cd98f00b204e9800998ecf8427e",
			"image_download_source": "local"}, "Failed to prepare to deploy: provide the image: publish an image: download from %s: it answers 404"},
		"local, another image": {map[string]any{"image_checksum": "d41d8cd98f00b204e9800998ecf8427e", "image_download_source": "local"},
			", and the node's instance_info has d41d8cd98f00b204e9800998ecf8427e"},
		"local, no checksum": {map[string]any{"image_checksum": "/SHA256SUMS", "image_download_source": "local"},
			"the file of checksums does not contain x.raw"},
		"local, a word": {map[string]any{"image_checksum": "5f", "image_download_source": "local"},
			"its checksum is neither MD5 nor SHA256 nor SHA512"},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, states.Available, "direct")
			l.files = map[string][]byte{"SHA256SUMS": []byte("5f  another\n")}
			host := l.web[len("http://"):]
			info := map[string]any{"image_source": "/x.raw", "image_checksum": "d41d"}
			maps.Copy(info, c.info)
			for key, value := range info {
				if text := value.(string); text[0] == '/' {
					info[key] = "http://u:hunter2@" + host + "/images" + text
				}
			}
			n := l.deploy(info, nil, nil)
			require.Equal(t, states.DeployFail, n.ProvisionState)
			if name == "gone" || name == "local, gone" {
				c.want = fmt.Sprintf(c.want, host)
			}
			require.Contains(t, n.LastError, c.want)
			require.NotContains(t, n.LastError, "hunter2")
			require.Zero(t, l.machine.Boots())
			l.requireNoImages()
		})
	}
}

func TestALocalImageIsServedFromTheFolderOfImages(t *testing.T) {
	l := startLab(t, states.Available, "direct")
	path := l.images.Temporary() + "/../ours.raw"
	require.NoError(t, os.WriteFile(path, l.image, 0o600))
	file, ok := l.images.File("ours.raw")
	require.True(t, ok)
	n := l.deploy(map[string]any{"image_source": file, "image_disk_format": "raw"}, nil, nil)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.True(t, bytes.Equal(l.image, l.part(0, int64(len(l.image)))))
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(l.image)), n.InstanceInfo["image_os_hash_value"])
	require.Regexp(t, `^`+l.web+`/published/.*\.img$`, n.InstanceInfo["image_url"])
	l.requireNoImages()
}

func TestALocalImageNeedsAServiceThatServesImages(t *testing.T) {
	for name, c := range map[string]struct {
		config hardware.Config
		source string
		want   string
	}{
		"by the configuration":   {hardware.Config{ImageDownloadSource: "local"}, "http://h/x.raw", "no images are served"},
		"a file":                 {hardware.Config{}, "file:///x.raw", "no images are served"},
		"the agent's own":        {hardware.Config{}, "http://h/x.raw", ""},
		"the agent's own, named": {hardware.Config{ImageDownloadSource: "http"}, "http://h/x.raw", ""},
	} {
		b, err := hardware.NewRedfish(c.config)
		require.NoError(t, err)
		n := &conductor.Node{
			Interfaces:   map[string]string{"deploy": "direct"},
			InstanceInfo: map[string]any{"image_source": c.source, "image_checksum": "d41d"},
		}
		err = b.Validate(n)["deploy"]
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, conductor.Invalid)
		require.ErrorContains(t, err, c.want)
	}
	_, err := hardware.NewRedfish(hardware.Config{ImageDownloadSource: "swift"})
	require.ErrorContains(t, err, "ImageDownloadSource")
	l := startLab(t, states.Available, "direct")
	_, err = l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.InstanceInfo["image_source"] = "file:///etc/passwd"
		return nil
	})
	require.NoError(t, err)
	request := l.word("active")
	require.ErrorContains(t, l.Provision(t.Context(), l.n.UUID, request),
		"cannot be served: the file passwd is not one in the folder of images")
}
