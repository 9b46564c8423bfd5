// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"strings"

	"github.com/ironstate/ironstate/internal/must"
)

// configDriveLabel is the label by which an instance finds its config drive.
const configDriveLabel = "config-2"

// maxConfigDrive is the size in bytes of the partition of a config drive.
const maxConfigDrive = 64 << 20

// writeConfigDrive writes a config drive to the partition that has its label, or to a new one at the end of the disk.
//
// Source: create_config_drive_partition in ironic_python_agent/partition_utils.py.
func (a *agent) writeConfigDrive(ctx context.Context, d disk, drive string) {
	content := a.configDrive(ctx, drive)
	if len(content) > maxConfigDrive {
		must.OK(deploymentFailed("Config drive size exceeds maximum limit of 64MiB. Size of the given config drive is %d MiB for node %s.",
			(len(content)+1<<20-1)>>20, a.uuid))
	}
	err := must.Catch(func() {
		p, found := d.labelled(configDriveLabel)
		if !found {
			p = d.addPartition(maxConfigDrive)
		}
		if int64(len(content)) > p.size {
			must.Failf("the partition has %d bytes and the config drive %d", p.size, len(content))
		}
		must.Get(d.part(p).Write(content))
	})
	if err != nil {
		must.OK(deploymentFailed("Failed to create config drive on disk %s for node %s. Error: %v", device, a.uuid, err))
	}
}

// configDrive returns the content of a config drive, which is gzip in base64, or the URL of that or of the content.
func (a *agent) configDrive(ctx context.Context, drive string) (content []byte) {
	text, isURL := []byte(drive), strings.HasPrefix(drive, "http://") || strings.HasPrefix(drive, "https://")
	if isURL {
		err := must.Catch(func() {
			body := must.Get(a.download(ctx, drive, drive))
			defer body.Close()
			text = must.Get(io.ReadAll(io.LimitReader(body, 2*maxConfigDrive)))
		})
		if err != nil {
			must.OK(deploymentFailed("Can't download the configdrive content for node %s from '%s'. Reason: %v", a.uuid, drive, err))
		}
	}
	zipped, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(text), nil)))
	if err != nil && isURL {
		return text
	}
	err = must.Catch(func() {
		must.OK(err)
		reader := must.Get(gzip.NewReader(bytes.NewReader(zipped)))
		content = must.Get(io.ReadAll(io.LimitReader(reader, maxConfigDrive+1)))
	})
	if err != nil {
		must.OK(deploymentFailed("Config drive for node %s is not base64 encoded or the content is malformed. %v", a.uuid, err))
	}
	return content
}
