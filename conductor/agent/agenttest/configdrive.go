// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// configDriveLabel is the label by which an instance finds its config drive.
const configDriveLabel = "config-2"

// maxConfigDrive is the size in bytes of the partition of a config drive.
const maxConfigDrive = 64 << 20

// writeConfigDrive writes a config drive to the partition that has its label, or to a new one at the end of the disk.
//
// Source: create_config_drive_partition in ironic_python_agent/partition_utils.py.
func (a *agent) writeConfigDrive(ctx context.Context, d disk, drive string) error {
	content, err := a.configDrive(ctx, drive)
	if err != nil {
		return err
	}
	if len(content) > maxConfigDrive {
		return deploymentFailed("Config drive size exceeds maximum limit of 64MiB. Size of the given config drive is %d MiB for node %s.",
			(len(content)+1<<20-1)>>20, a.uuid)
	}
	p, found, err := d.labelled(configDriveLabel)
	if err == nil && !found {
		p, err = d.addPartition(maxConfigDrive)
	}
	if err == nil && int64(len(content)) > p.size {
		err = fmt.Errorf("the partition has %d bytes and the config drive %d", p.size, len(content))
	}
	if err == nil {
		_, err = d.writer(p).Write(content)
	}
	if err != nil {
		return deploymentFailed("Failed to create config drive on disk %s for node %s. Error: %v", device, a.uuid, err)
	}
	return nil
}

// configDrive returns the content of a config drive, which is gzip in base64, or the URL of that or of the content.
func (a *agent) configDrive(ctx context.Context, drive string) ([]byte, error) {
	text, isURL := []byte(drive), strings.HasPrefix(drive, "http://") || strings.HasPrefix(drive, "https://")
	if isURL {
		body, err := imageClient{a.machine.http}.download(ctx, drive, drive)
		if err != nil {
			return nil, deploymentFailed("Can't download the configdrive content for node %s from '%s'. Reason: %v", a.uuid, drive, err)
		}
		defer body.Close()
		if text, err = io.ReadAll(io.LimitReader(body, 2*maxConfigDrive)); err != nil {
			return nil, deploymentFailed("Can't download the configdrive content for node %s from '%s'. Reason: %v", a.uuid, drive, err)
		}
	}
	zipped, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(text), nil)))
	if err != nil && isURL {
		return text, nil
	}
	if err == nil {
		var reader *gzip.Reader
		if reader, err = gzip.NewReader(bytes.NewReader(zipped)); err == nil {
			var content []byte
			if content, err = io.ReadAll(io.LimitReader(reader, maxConfigDrive+1)); err == nil {
				return content, nil
			}
		}
	}
	return nil, deploymentFailed("Config drive for node %s is not base64 encoded or the content is malformed. %v", a.uuid, err)
}
