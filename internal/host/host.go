// Package host tells which machine a figure was measured on.
package host

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strings"
)

// CPU returns the model of the machine's processor where the system tells it, and
// otherwise its architecture.
func CPU() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for lines := bufio.NewScanner(bytes.NewReader(info)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
