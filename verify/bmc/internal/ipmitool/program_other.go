// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package ipmitool

import "os/exec"

// Without process groups only the command's own process is killed.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
