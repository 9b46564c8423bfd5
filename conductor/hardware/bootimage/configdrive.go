// SPDX-License-Identifier: Apache-2.0

package bootimage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MaxConfigDrive is the maximum size of the files of a configuration drive together, in bytes. An agent makes a
// partition of 64 MiB for the drive.
const MaxConfigDrive = 32 << 20

// ConfigDrive returns the image of a configuration drive, an ISO 9660 file system with the label config-2, of the
// files by their paths. It needs a temporary folder, and removes its files from there.
//
// Source: pack in openstack/baremetal/configdrive.py of openstacksdk.
func ConfigDrive(files map[string][]byte, temporary string) (image []byte, err error) {
	size := 0
	for path, content := range files {
		if size += len(content); !filepath.IsLocal(path) {
			return nil, fmt.Errorf("build a configuration drive: %q is not a path within the drive", path)
		}
	}
	if size > MaxConfigDrive {
		return nil, fmt.Errorf("build a configuration drive: its files have %d bytes, more than %d", size, MaxConfigDrive)
	}
	folder, err := os.MkdirTemp(temporary, "config-drive-")
	if err != nil {
		return nil, fmt.Errorf("build a configuration drive: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	content, name := filepath.Join(folder, "content"), filepath.Join(folder, "drive.iso")
	for path, text := range files {
		path = filepath.Join(content, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			return nil, fmt.Errorf("build a configuration drive: %w", err)
		}
	}
	to, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("build a configuration drive: %w", err)
	}
	err = errors.Join(write(to, content, configLabel, "", nil), to.Close())
	if err != nil {
		return nil, fmt.Errorf("build a configuration drive: %w", err)
	}
	return os.ReadFile(name)
}
