// SPDX-License-Identifier: Apache-2.0

package main

import "syscall"

// dieWithParent makes the kernel kill a child process when this process ends, for any
// reason.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
