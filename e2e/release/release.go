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
)

// release clones the repository into dir, commits the texts of the release and the release, and tags its modules. It
// returns the tags. On failure dir may hold an unfinished clone.
func release(ctx context.Context, repository, version, dir string) ([]string, error) {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return nil, fmt.Errorf("version %q is not of the form v1.2.3", version)
	}
	if semver.Compare(version, "v2.0.0-0") >= 0 {
		return nil, fmt.Errorf("version %s: a major version above 1 needs other module paths", version)
	}
	repository, err := filepath.Abs(repository)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	// git clone refuses a folder that is not empty.
	head, err := command(ctx, repository, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	if _, err := command(ctx, repository, nil, "git", "clone", "--quiet", "--no-checkout", "--no-tags", repository, dir); err != nil {
		return nil, err
	}
	if _, err := command(ctx, dir, nil, "git", "checkout", "--quiet", "-B", "main", strings.TrimSpace(head)); err != nil {
		return nil, err
	}
	if err := writeTexts(ctx, dir, version, time.Now().UTC()); err != nil {
		return nil, err
	}
	return tag(ctx, dir, version)
}

// tag makes the release commit in the clone, and its tags. A module's go.sum needs the
// hashes of the modules that it requires. The go command computes them from a first tag,
// which moves to the release commit when all modules are done.
func tag(ctx context.Context, dir, version string) ([]string, error) {
	git := func(args ...string) error {
		_, err := command(ctx, dir, nil, "git", args...)
		return err
	}
	base, err := command(ctx, dir, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	listed, err := command(ctx, dir, nil, "git", "ls-files", "go.mod", "*/go.mod", ":!:.ci")
	if err != nil {
		return nil, err
	}
	all, err := readModules(dir, strings.Fields(listed))
	if err != nil {
		return nil, err
	}
	public, err := published(all)
	if err != nil {
		return nil, err
	}
	cache, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)

	root := all[slices.IndexFunc(all, func(u goModule) bool { return u.folder == "." })].path()
	fetched := make(map[string]sums)
	for _, u := range all {
		if !contains(public, u) {
			if err := write(dir, u, all, version, nil, false); err != nil {
				return nil, err
			}
		}
	}
	for _, u := range public {
		var required []sums
		for _, r := range u.closure(all) {
			required = append(required, fetched[r.path()])
		}
		if err := write(dir, u, all, version, required, true); err != nil {
			return nil, err
		}
		if err := errors.Join(
			git("add", "--all"),
			git("commit", "--quiet", "--allow-empty", "--message", u.tag(version)),
			git("tag", u.tag(version)),
		); err != nil {
			return nil, err
		}
		if fetched[u.path()], err = download(ctx, dir, cache, root, u.path(), version); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		git("reset", "--quiet", "--soft", strings.TrimSpace(base)),
		git("commit", "--quiet", "--message", "Release "+version),
	); err != nil {
		return nil, err
	}
	var tags []string
	for _, u := range public {
		if err := git("tag", "--force", "--annotate", "--message", u.path()+" "+version, u.tag(version)); err != nil {
			return nil, err
		}
		tags = append(tags, u.tag(version))
	}
	return tags, nil
}

// write writes the go.mod of a module with pinned versions, and adds hashes to its go.sum.
func write(dir string, u goModule, all []goModule, version string, required []sums, published bool) error {
	if err := u.pin(all, version, published); err != nil {
		return err
	}
	folder := filepath.Join(dir, u.folder)
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), modfile.Format(u.file.Syntax), 0o644); err != nil {
		return err
	}
	if len(required) == 0 {
		return nil
	}
	name := filepath.Join(folder, "go.sum")
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	added, err := addSums(string(old), required)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(added), 0o644)
}

// download has the go command fetch a module from the tags in dir, and returns its hashes.
func download(ctx context.Context, dir, cache, root, modulePath, version string) (sums, error) {
	env := append(fetchFrom(dir, root), "GOWORK=off", "GOFLAGS=-modcacherw", "GOPRIVATE=*", "GOPROXY=direct",
		"GOMODCACHE="+filepath.Join(cache, "mod"))
	out, err := command(ctx, cache, env, "go", "mod", "download", "-json", modulePath+"@"+version)
	if err != nil {
		return sums{}, err
	}
	var s sums
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return sums{}, fmt.Errorf("go mod download %s: %w", modulePath, err)
	}
	return s, nil
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
