// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

const sample = `
-- CHANGELOG.md --
# Changelog

## 1.2.0 (not released yet)

- It greets.

## 1.1.0 (2026-01-02)
-- README.md --
# Sample

<!-- until the first release -->

Nothing is released yet.

<!-- from then on -->

It greets. <!-- until the first release -->Soon.<!-- from then on -->
-- LICENSE --
Free.
-- go.mod --
module github.com/example/sample

go 1.23.0
-- sample.go --
package sample

const Greeting = "hello"
-- deep/lib/go.mod --
module github.com/example/sample/deep/lib

go 1.23.0

require github.com/example/sample v0.0.0

replace github.com/example/sample => ../..
-- deep/lib/lib.go --
package lib

import "github.com/example/sample"

func Greet() string { return sample.Greeting }
-- internal/help/go.mod --
module github.com/example/sample/internal/help

go 1.23.0
-- internal/help/help.go --
package help

const Word = "world"
-- internal/unused/go.mod --
module github.com/example/sample/internal/unused

go 1.23.0
-- cmd/tool/go.mod --
module github.com/example/sample/cmd/tool

go 1.23.0

require (
	github.com/example/sample/deep/lib v0.0.0
	github.com/example/sample/internal/help v0.0.0
)

require github.com/example/sample v0.0.0 // indirect

replace (
	github.com/example/sample => ../..
	github.com/example/sample/deep/lib => ../../deep/lib
	github.com/example/sample/internal/help => ../../internal/help
)
-- cmd/tool/main.go --
package main

import (
	"github.com/example/sample/deep/lib"
	"github.com/example/sample/internal/help"
)

func main() { println(lib.Greet(), help.Word) }
-- e2e/go.mod --
module github.com/example/sample/e2e

go 1.23.0

require github.com/example/sample v0.0.0

replace github.com/example/sample => ..
-- e2e/e2e.go --
package e2e

import _ "github.com/example/sample"
`

func TestStrangersCanInstallARelease(t *testing.T) {
	needs.Time(t)
	isolate(t)
	repository := repository(t, sample)
	dir := filepath.Join(t.TempDir(), "release")
	tags, err := release(t.Context(), repository, "v1.2.0", dir)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"v1.2.0", "deep/lib/v1.2.0", "internal/help/v1.2.0", "cmd/tool/v1.2.0"}, tags)

	out := git(t, dir, "log", "--format=%s %D")
	require.Equal(t, 3, strings.Count(out, "\n"), "two commits are added: %s", out)
	require.Contains(t, out, "Release v1.2.0 HEAD -> main")
	require.Contains(t, out, "\nThe texts of v1.2.0 \n")
	require.Equal(t, "# Sample\n\nIt greets. \n", read(t, dir, "README.md"))
	require.Regexp(t, `^# Changelog\n\n## 1.2.0 \(\d{4}-\d\d-\d\d\)\n\n- It greets.\n\n## 1.1.0 \(2026-01-02\)\n$`,
		read(t, dir, "CHANGELOG.md"))
	for _, tag := range tags {
		require.Contains(t, out, "tag: "+tag)
		if folder := filepath.Dir(tag); folder != "." {
			mod := read(t, dir, folder, "go.mod")
			require.NotContains(t, mod, "replace")
			require.NotContains(t, mod, "v0.0.0")
		}
	}
	require.Contains(t, read(t, dir, "e2e", "go.mod"), "sample v1.2.0", "a module that is not published has the version too")
	require.Contains(t, read(t, dir, "e2e", "go.mod"), "replace")
	require.Empty(t, git(t, dir, "status", "--porcelain"))
	require.Empty(t, git(t, repository, "tag"), "the repository itself is not changed")

	cache := filepath.Join(t.TempDir(), "modules")
	env := append(fetchFrom(dir, "github.com/example/sample"), "GOMODCACHE="+cache, "GOBIN="+cache, "GOFLAGS=-modcacherw",
		"GOWORK=off", "GOPROXY=direct", "GOPRIVATE=*")
	_, err = command(t.Context(), t.TempDir(), env, "go", "install", "github.com/example/sample/cmd/tool@v1.2.0")
	require.NoError(t, err)
	_, err = command(t.Context(), t.TempDir(), nil, filepath.Join(cache, "tool"))
	require.NoError(t, err)
	for _, tag := range tags {
		_, err = command(t.Context(), filepath.Join(dir, filepath.Dir(tag)), env, "go", "mod", "tidy", "-diff")
		require.NoError(t, err, "the module of %s is not tidy", tag)
	}
}

func TestARefusedReleaseHasAReason(t *testing.T) {
	isolate(t)
	for name, c := range map[string]struct {
		version, was, is, want string
	}{
		"no version":             {"1.2.0", "", "", `version "1.2.0" is not of the form v1.2.3`},
		"a short version":        {"v1.2", "", "", `version "v1.2" is not of the form v1.2.3`},
		"a second major version": {"v2.0.0", "", "", "version v2.0.0: a major version above 1 needs other module paths"},
		"not in the changelog": {"v1.3.0", "", "",
			`CHANGELOG.md: the first section is "## 1.2.0 (not released yet)", want the section of 1.3.0`},
		"an older section": {"v1.1.0", "", "",
			`CHANGELOG.md: the first section is "## 1.2.0 (not released yet)", want the section of 1.1.0`},
		"no section": {"v1.2.0", "## 1.2.0 (not released yet)\n\n- It greets.\n\n## 1.1.0 (2026-01-02)\n", "",
			"CHANGELOG.md: there is no section"},
		"no changelog": {"v1.2.0", "-- CHANGELOG.md --", "-- CHANGES.md --", "there is no CHANGELOG.md"},
		"no date": {"v1.2.0", "## 1.2.0 (not released yet)", "## 1.2.0 (soon)",
			`CHANGELOG.md: the section "## 1.2.0 (soon)" has no date, want "## 1.2.0 (TODAY)"`},
		"a mark without an end": {"v1.2.0", "Soon.<!-- from then on -->", "Soon.",
			`README.md:3: the text after "<!-- until the first release -->" has no end`},
		"a text without a mark": {"v1.2.0", "It greets. ", "It is not released. ", `README.md:3: "not released" cannot be said of a release`},
		"a foreign replacement": {"v1.2.0", "go 1.23.0\n\nrequire github.com/example/sample v0.0.0\n",
			"go 1.23.0\n\nrequire github.com/example/sample v0.0.0\n\nreplace github.com/other/lib => ../other\n",
			"module github.com/example/sample/deep/lib replaces github.com/other/lib, which is not ours: importers would ignore this"},
		"a tool of e2e": {"v1.2.0", "require (\n\tgithub.com/example/sample/deep/lib v0.0.0\n",
			"require (\n\tgithub.com/example/sample/e2e v0.0.0\n",
			"a released module requires github.com/example/sample/e2e, and no release has the modules of e2e"},
		"a cycle": {"v1.2.0", "module github.com/example/sample\n\ngo 1.23.0\n",
			"module github.com/example/sample\n\ngo 1.23.0\n\nrequire github.com/example/sample/deep/lib v0.0.0\n",
			"module github.com/example/sample/deep/lib and modules that it requires require each other"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := repository(t, strings.ReplaceAll(sample, c.was, c.is))
			_, err := release(t.Context(), repository, c.version, filepath.Join(t.TempDir(), "release"))
			require.Error(t, err)
			require.Equal(t, c.want, anyDate.ReplaceAllString(err.Error(), "(TODAY)"))
		})
	}
}

var anyDate = regexp.MustCompile(`\(\d{4}-\d\d-\d\d\)`)

func TestNoReleasedModuleHasTheToolsOfE2e(t *testing.T) {
	all, err := readModules("../..", strings.Fields(git(t, "../..", "ls-files", "go.mod", "*/go.mod", ":!:.ci")))
	require.NoError(t, err)
	public, err := published(all)
	require.NoError(t, err)
	require.NotEmpty(t, public)
	for _, tool := range []string{"e2e/mutation", "e2e/force", "e2e/release"} {
		var holder goModule // the one with the longest folder around the tool
		for _, u := range all {
			if (u.folder == "." || strings.HasPrefix(tool, u.folder+"/")) && len(u.folder) > len(holder.folder) {
				holder = u
			}
		}
		require.False(t, contains(public, holder), "the module %s with %s is released", holder.path(), tool)
	}
}

func TestAFolderThatIsNotEmptyIsLeftAlone(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	_, err := release(t.Context(), repository(t, sample), "v1.2.0", dir)
	require.ErrorContains(t, err, "not an empty directory")
}

// isolate hides the user's configuration of git.
func isolate(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "Tester")
		t.Setenv("GIT_"+who+"_EMAIL", "tester@example.com")
	}
}

// repository makes a repository with one commit of the files in a text.
func repository(t *testing.T, text string) string {
	root := t.TempDir()
	for _, section := range strings.Split(text, "\n-- ")[1:] {
		name, content, _ := strings.Cut(section, " --\n")
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(content+"\n"), 0o600))
	}
	git(t, root, "init", "--quiet", "--initial-branch=main")
	git(t, root, "add", "--all")
	git(t, root, "commit", "--quiet", "--message", "Begin")
	return root
}

func git(t *testing.T, folder string, args ...string) string {
	out, err := command(t.Context(), folder, nil, "git", args...)
	require.NoError(t, err)
	return out
}

func read(t *testing.T, elements ...string) string {
	data, err := os.ReadFile(filepath.Join(elements...))
	require.NoError(t, err)
	return string(data)
}
