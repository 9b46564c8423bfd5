// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/ironstate/ironstate/internal/try"
)

// release clones the repository into dir, commits the texts of the release and the release, and tags its modules. It
// returns the tags. On failure dir may hold an unfinished clone.
func release(ctx context.Context, repository, version, dir string) (tags []string, err error) {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return nil, fmt.Errorf("version %q is not of the form v1.2.3", version)
	}
	if semver.Compare(version, "v2.0.0-0") >= 0 {
		return nil, fmt.Errorf("version %s: a major version above 1 needs other module paths", version)
	}
	err = try.Catch(func() {
		repository, dir := try.Get(filepath.Abs(repository)), try.Get(filepath.Abs(dir))
		// git clone refuses a folder that is not empty.
		head := try.Get(command(ctx, repository, nil, "git", "rev-parse", "HEAD"))
		try.Get(command(ctx, repository, nil, "git", "clone", "--quiet", "--no-checkout", "--no-tags", repository, dir))
		try.Get(command(ctx, dir, nil, "git", "checkout", "--quiet", "-B", "main", strings.TrimSpace(head)))
		try.OK(writeTexts(ctx, dir, version, time.Now().UTC()))
		tags = tag(ctx, dir, version)
	})
	return tags, err
}

// tag makes the release commit in the clone, and its tags. A module's go.sum needs the
// hashes of the modules that it requires. The go command computes them from a first tag,
// which moves to the release commit when all modules are done.
func tag(ctx context.Context, dir, version string) (tags []string) {
	git := func(args ...string) string { return try.Get(command(ctx, dir, nil, "git", args...)) }
	base := git("rev-parse", "HEAD")
	all := try.Get(readModules(dir, strings.Fields(git("ls-files", "go.mod", "*/go.mod", ":!:.ci"))))
	public := try.Get(published(all))
	cache := try.Get(os.MkdirTemp("", "release"))
	defer os.RemoveAll(cache)

	root := all[slices.IndexFunc(all, func(u goModule) bool { return u.folder == "." })].path()
	fetched := make(map[string]sums)
	for _, u := range all {
		if !contains(public, u) {
			write(dir, u, all, version, nil, false)
		}
	}
	for _, u := range public {
		var required []sums
		for _, r := range u.closure(all) {
			required = append(required, fetched[r.path()])
		}
		write(dir, u, all, version, required, true)
		git("add", "--all")
		git("commit", "--quiet", "--allow-empty", "--message", u.tag(version))
		git("tag", u.tag(version))
		fetched[u.path()] = download(ctx, dir, cache, root, u.path(), version)
	}
	git("reset", "--quiet", "--soft", strings.TrimSpace(base))
	git("commit", "--quiet", "--message", "Release "+version)
	for _, u := range public {
		git("tag", "--force", "--annotate", "--message", u.path()+" "+version, u.tag(version))
		tags = append(tags, u.tag(version))
	}
	return tags
}

// write writes the go.mod of a module with pinned versions, and adds hashes to its go.sum.
func write(dir string, u goModule, all []goModule, version string, required []sums, published bool) {
	try.OK(u.pin(all, version, published))
	folder := filepath.Join(dir, u.folder)
	try.OK(os.WriteFile(filepath.Join(folder, "go.mod"), modfile.Format(u.file.Syntax), 0o644))
	if len(required) == 0 {
		return
	}
	name := filepath.Join(folder, "go.sum")
	old, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		try.OK(err)
	}
	added, err := addSums(string(old), required)
	try.OKf(err, "%s", name)
	try.OK(os.WriteFile(name, []byte(added), 0o644))
}

// download has the go command fetch a module from the tags in dir, and returns its hashes.
func download(ctx context.Context, dir, cache, root, modulePath, version string) (s sums) {
	env := append(fetchFrom(dir, root), "GOWORK=off", "GOFLAGS=-modcacherw", "GOPRIVATE=*", "GOPROXY=direct",
		"GOMODCACHE="+filepath.Join(cache, "mod"))
	out := try.Get(command(ctx, cache, env, "go", "mod", "download", "-json", modulePath+"@"+version))
	try.OKf(json.Unmarshal([]byte(out), &s), "go mod download %s", modulePath)
	return s
}

// fetchFrom is the environment in which git reads the repository of a root module from dir.
func fetchFrom(dir, root string) []string {
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	return []string{
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1),
		fmt.Sprintf("GIT_CONFIG_KEY_%d=url.file://%s.insteadOf", n, dir),
		fmt.Sprintf("GIT_CONFIG_VALUE_%d=https://%s", n, root),
	}
}

// command runs a program in a folder and returns its standard output.
func command(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out.Bytes(), errOut.Bytes())
	}
	return out.String(), nil
}
