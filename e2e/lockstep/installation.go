// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/e2e/internal/debian"
	"github.com/ironstate/ironstate/states"
)

// Installation is an installed Ironic. Find it with [Find].
type Installation struct {
	Root    string        // the folder of a Debian that e2e/ironic has made; empty for this machine
	Version string        // the upstream version of its Debian package, such as "29.0.5"
	Series  states.Series // the series of the version, or the newest known one if the version is newer
	Newer   bool          // the version is newer than the newest known series
}

// FoldersVariable is the environment variable with the folders of other Ironics, separated as in PATH.
const FoldersVariable = "IRONSTATE_IRONICS"

// Folders returns the folders of other Ironics that the environment names.
func Folders() []string { return filepath.SplitList(os.Getenv(FoldersVariable)) }

// Find returns the Ironic in a folder, or with an empty folder the one of this machine. If there is none,
// the error matches [ErrNotInstalled].
func Find(ctx context.Context, root string) (Installation, error) {
	missing := func(what string) error {
		return fmt.Errorf("lockstep: %s in %q is %w: Debian's packages ironic-api and ironic-conductor are needed", what, root, ErrNotInstalled)
	}
	for _, program := range []string{"ironic", "ironic-dbsync"} {
		if _, err := debian.Root(root).LookPath(program); err != nil {
			return Installation{}, missing(program)
		}
	}
	query := exec.CommandContext(ctx, "dpkg-query", "--admindir", filepath.Join(root, "/var/lib/dpkg"), "--show",
		"--showformat", "${source:Upstream-Version}", "ironic-common")
	said, err := query.Output()
	switch {
	case ctx.Err() != nil:
		return Installation{}, ctx.Err()
	case err != nil:
		return Installation{}, missing("the package ironic-common")
	}
	i := Installation{Root: root, Version: string(said)}
	i.Series, i.Newer, err = seriesOf(i.Version)
	return i, err
}

// lastReleases are the first numbers of the last release of each series since 2023.1, the
// series of the oldest Ironic that is compared.
var lastReleases = []int{21, 23, 24, 26, 29, 32, 35, 39}

// seriesOf returns the series of a version of Ironic. For a version after the newest series newer is true.
func seriesOf(version string) (series states.Series, newer bool, err error) {
	word, _, _ := strings.Cut(version, ".")
	first, err := strconv.Atoi(word)
	if err != nil || first < lastReleases[0] {
		return states.NoSeries, false, fmt.Errorf("lockstep: the version of ironic is %q: want %d.0.0 or newer", version, lastReleases[0])
	}
	for n, last := range lastReleases {
		if first <= last {
			return states.Antelope + states.Series(n), false, nil
		}
	}
	return states.Latest(), true, nil
}

// table is the table of the series.
func (i Installation) table() *states.Table { return i.Series.Table() }

// newest is the highest API version of the series.
func (i Installation) newest() states.APIVersion { return i.Series.MaxAPIVersion() }

// command returns the command of a program of the installation.
func (i Installation) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return debian.Root(i.Root).Command(ctx, name, args...)
}

// server returns the command of the server. An Ironic since 2026.1 leaves its process group, and leaves its workers
// behind when it is killed. In a folder it therefore has a namespace of processes, which all end with it.
func (i Installation) server() []string {
	if i.Root == "" {
		return []string{"ironic"}
	}
	return []string{"unshare", "--pid", "--fork", "--kill-child", "--propagation", "unchanged", "--mount-proc", "ironic"}
}

// interpreter returns the Python interpreter of the program ironic, such as "/usr/bin/python3".
func (i Installation) interpreter() (string, error) {
	interpreter, err := debian.Root(i.Root).Interpreter("ironic")
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		err = ErrNotInstalled
	}
	if err != nil {
		return "", fmt.Errorf("lockstep: find ironic's python: %w", err)
	}
	return interpreter, nil
}
