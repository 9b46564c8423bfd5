// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "syscall"

// dieWithParent has no effect on this system. After a crash of this process its child
// processes must be killed by hand.
func dieWithParent() *syscall.SysProcAttr { return nil }
