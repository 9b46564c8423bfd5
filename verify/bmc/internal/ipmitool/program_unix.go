// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ipmitool

import (
	"os/exec"
	"syscall"
)

// inGroup makes the command the leader of a process group.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the remaining processes of the group of a command that has ended.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
