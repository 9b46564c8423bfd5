// SPDX-License-Identifier: Apache-2.0

// Package build builds cmd/ironstate for the programs and tests that run it as a process.
package build

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Ironstate builds cmd/ironstate into the file program. The working directory must be in a module
// of the repository.
func Ironstate(ctx context.Context, program string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/ironstate/ironstate").Output()
	if err != nil {
		return fmt.Errorf("find the repository that has cmd/ironstate: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "cmd", "ironstate")
	if output, err := exec.CommandContext(ctx, "go", "-C", dir, "build", "-o", program, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build cmd/ironstate: %w: %s", err, output)
	}
	return nil
}
