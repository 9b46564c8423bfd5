//go:build !unix

package bmc

import "os/exec"

// Where there are no process groups, the command's own process is killed alone.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
