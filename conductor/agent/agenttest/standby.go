// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
)

// partitionUUIDs answers with the identifier of the disk if an image was written.
func (a *agent) partitionUUIDs(context.Context, map[string]any) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.partitions == nil {
		return map[string]any{}, nil
	}
	return a.partitions, nil
}

// installBootloader verifies that there is a disk to boot from, and that the given root partition is the image's.
//
// Source: install_bootloader in ironic_python_agent/extensions/image.py.
func (a *agent) installBootloader(_ context.Context, params map[string]any) (any, error) {
	a.mu.Lock()
	written := a.partitions
	a.mu.Unlock()
	if root, given := params["root_uuid"]; given && root != nil && written["root uuid"] != root {
		return nil, deviceNotFound("No partition with UUID %v found on device %s", root, device)
	}
	return nil, a.machine.change(a.ctx, func(d disk) error {
		_, err := d.partitions()
		return err
	})
}

func powerOff(a *agent, _ context.Context, _ map[string]any) (any, error) {
	a.machine.switchOff()
	return nil, nil
}

// reboot boots from the disk.
func reboot(a *agent, _ context.Context, _ map[string]any) (any, error) {
	a.machine.Power(true, "Hdd", "")
	return nil, nil
}

func syncDisk(a *agent, _ context.Context, _ map[string]any) (any, error) {
	return nil, a.machine.change(a.ctx, func(d disk) error { return d.file.Sync() })
}

// collectLogs answers with an archive of one file, which lists the commands.
func (a *agent) collectLogs(context.Context, map[string]any) (any, error) {
	var journal, archive bytes.Buffer
	a.mu.Lock()
	for _, c := range a.commands {
		fmt.Fprintln(&journal, c.name, c.status)
	}
	a.mu.Unlock()
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: "journal", Mode: 0o600, Size: int64(journal.Len())}); err != nil {
		return nil, err
	}
	if _, err := files.Write(journal.Bytes()); err != nil {
		return nil, err
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return map[string]any{"system_logs": base64.StdEncoding.EncodeToString(archive.Bytes())}, nil
}

// finalizeRescue stores the password and ends the agent's API after the answer.
//
// Source: ironic_python_agent/extensions/rescue.py.
func (a *agent) finalizeRescue(_ context.Context, params map[string]any) (any, error) {
	password, _ := params["rescue_password"].(string)
	a.machine.mu.Lock()
	a.machine.rescue = password
	a.machine.mu.Unlock()
	a.machine.become(a, "rescue")
	a.mu.Lock()
	a.rescued = true
	a.mu.Unlock()
	a.heartbeatNow()
	return nil, nil
}
