//go:build !linux

package main

import "syscall"

// dieWithParent is nothing here: a process that outlives this one has to be killed by
// hand.
func dieWithParent() *syscall.SysProcAttr { return nil }
