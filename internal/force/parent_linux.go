package main

import "syscall"

// dieWithParent has a process killed when this one ends, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
