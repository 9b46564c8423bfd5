// SPDX-License-Identifier: Apache-2.0

// Package host describes the machine on which a figure was measured.
package host

import (
	"os"
	"runtime"
	"strings"
)

// CPU returns the model of the machine's processor or, if the system does not report
// it, its architecture.
func CPU() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for _, line := range strings.Split(string(info), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
