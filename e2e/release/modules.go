// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// goModule is one module of the repository.
type goModule struct {
	folder string // relative to the repository's root, "." for the root module
	file   *modfile.File
}

func (u goModule) path() string { return u.file.Module.Mod.Path }

// tag is the tag by which the go command finds the module's version.
func (u goModule) tag(version string) string { return path.Join(u.folder, version) }

// top is the first element of the module's folder.
func (u goModule) top() string {
	top, _, _ := strings.Cut(u.folder, "/")
	return top
}

// readModules reads the go.mod files of a work tree. The files are relative to its root.
func readModules(root string, files []string) ([]goModule, error) {
	var all []goModule
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		f, err := modfile.Parse(name, data, nil)
		if err != nil {
			return nil, err
		}
		if f.Module == nil {
			return nil, fmt.Errorf("%s: no module line", name)
		}
		all = append(all, goModule{folder: path.Dir(name), file: f})
	}
	if !slices.ContainsFunc(all, func(u goModule) bool { return u.folder == "." }) {
		return nil, errors.New("no go.mod in the root of the repository")
	}
	return all, nil
}

// requiresOf returns the modules, out of all, that u requires.
func (u goModule) requiresOf(all []goModule) []goModule {
	var required []goModule
	for _, r := range u.file.Require {
		if i := slices.IndexFunc(all, func(o goModule) bool { return o.path() == r.Mod.Path }); i >= 0 {
			required = append(required, all[i])
		}
	}
	return required
}

// closure returns the modules that u requires, and those that they require.
func (u goModule) closure(all []goModule) []goModule {
	found := u.requiresOf(all)
	for i := 0; i < len(found); i++ {
		for _, r := range found[i].requiresOf(all) {
			if !slices.ContainsFunc(found, func(f goModule) bool { return f.path() == r.path() }) {
				found = append(found, r)
			}
		}
	}
	return found
}

// published returns the modules that others import or install, and the internal modules that they require, each
// after the modules that it requires.
func published(all []goModule) ([]goModule, error) {
	var ordered []goModule
	var add func(u goModule, requiring []goModule) error
	add = func(u goModule, requiring []goModule) error {
		switch top := u.top(); {
		case contains(ordered, u):
			return nil
		case contains(requiring, u):
			return fmt.Errorf("module %s and modules that it requires require each other", u.path())
		case top == "e2e" || top == "examples":
			return fmt.Errorf("a released module requires %s, and no release has the modules of %s", u.path(), top)
		}
		for _, r := range u.requiresOf(all) {
			if err := add(r, append(requiring, u)); err != nil {
				return err
			}
		}
		ordered = append(ordered, u)
		return nil
	}
	for _, u := range all {
		if !slices.Contains([]string{"e2e", "examples", "internal"}, u.top()) {
			if err := add(u, nil); err != nil {
				return nil, err
			}
		}
	}
	return ordered, nil
}

func contains(modules []goModule, u goModule) bool {
	return slices.ContainsFunc(modules, func(o goModule) bool { return o.path() == u.path() })
}

// pin sets the version of each of our modules that u requires. A published module loses
// its replace lines for them; importers ignore these, and go install refuses them.
func (u goModule) pin(all []goModule, version string, published bool) error {
	for _, r := range u.requiresOf(all) {
		if err := u.file.AddRequire(r.path(), version); err != nil {
			return err
		}
	}
	if published {
		for _, r := range slices.Clone(u.file.Replace) {
			if !slices.ContainsFunc(all, func(o goModule) bool { return o.path() == r.Old.Path }) {
				return fmt.Errorf("module %s replaces %s, which is not ours: importers would ignore this", u.path(), r.Old.Path)
			}
			if err := u.file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	u.file.SortBlocks()
	u.file.Cleanup()
	return nil
}

// sums are the two lines of a module in go.sum.
type sums struct{ Path, Version, Sum, GoModSum string }

// addSums returns a go.sum with the lines of our modules, in the order of go mod tidy.
func addSums(goSum string, added []sums) (string, error) {
	hashes := make(map[module.Version]string)
	for line := range strings.Lines(goSum) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return "", fmt.Errorf("a line of go.sum is %q, want a module, a version and a hash", line)
		}
		hashes[module.Version{Path: fields[0], Version: fields[1]}] = fields[2]
	}
	for _, s := range added {
		hashes[module.Version{Path: s.Path, Version: s.Version}] = s.Sum
		hashes[module.Version{Path: s.Path, Version: s.Version + "/go.mod"}] = s.GoModSum
	}
	all := make([]module.Version, 0, len(hashes))
	for m := range hashes {
		all = append(all, m)
	}
	module.Sort(all)
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s %s %s\n", m.Path, m.Version, hashes[m])
	}
	return b.String(), nil
}
