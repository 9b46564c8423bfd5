// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/internal/needs"
)

// spawnMounted starts a role in a mount namespace of its own, in which the role can call mountSmall. The test fails
// where that is not permitted.
func spawnMounted(t *testing.T, role string, arg any) *etcdtest.Process {
	t.Helper()
	needs.Time(t)
	p := etcdtest.Command(t, os.Stderr, role, arg)
	p.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		p.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		p.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		p.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := p.Start(); err != nil {
		needs.Installed(t, false, fmt.Sprintf("a mount namespace (%v)", err))
	}
	t.Cleanup(p.Kill)
	return p
}

// mountSmall mounts a file system of size bytes that only this process and its children see.
func mountSmall(dir string, size int64) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
}
