// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

const withAPI = `
-- CHANGELOG.md --
## 1.3.0 (not released yet)

## 1.2.0 (2026-01-02)

- ` + "`lib.Thing.Old`" + ` is new.
-- go.work --
go 1.26.0

use (
	.
	./deep/lib
	./e2e
)
-- go.mod --
module github.com/example/sample

go 1.26.0
-- sample.go --
package sample
-- gone/gone.go --
package gone
-- internal/own/own.go --
package own

func Old() {}
-- deep/lib/go.mod --
module github.com/example/sample/deep/lib

go 1.26.0
-- deep/lib/lib.go --
package lib

type Thing struct{}

func (*Thing) Old() {}
-- e2e/go.mod --
module github.com/example/sample/e2e

go 1.26.0
-- e2e/part/part.go --
package part

func Old() {}
`

// A copy of the script runs in a repository whose last release had an API that the work
// tree breaks.
func TestAChangeThatBreaksUsersMustBeNamed(t *testing.T) {
	needs.Time(t)
	isolate(t)
	script := read(t, "../../.ci/api")
	root := repository(t, withAPI)
	check := func() (string, error) {
		return command(t.Context(), root, []string{"GOFLAGS=", "GOWORK="}, "bash", ".ci/api")
	}
	write := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	write(".ci/api", script)
	out, err := check()
	require.NoError(t, err)
	require.Contains(t, out, "no release yet")

	git(t, root, "tag", "v1.2.0")
	for _, name := range []string{"internal/own/own.go", "e2e/part/part.go", "deep/lib/lib.go"} {
		old := read(t, root, name)
		write(name, strings.ReplaceAll(old, "Old", "New"))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(root, "gone")))
	_, err = check()
	require.ErrorContains(t, err, "CHANGELOG.md does not name `lib.Thing.Old`: ./deep/lib.(*Thing).Old: removed")
	require.ErrorContains(t, err, "CHANGELOG.md does not name `package gone`: package ./gone: removed")
	require.NotContains(t, err.Error(), "own.Old")
	require.NotContains(t, err.Error(), "part.Old")

	changes := read(t, root, "CHANGELOG.md")
	write("CHANGELOG.md", strings.Replace(changes, "yet)\n", "yet)\n\n- `lib.Thing.Old` is `New`, and `package gone` has no successor.\n", 1))
	_, err = check()
	require.NoError(t, err)
}
