// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ironstate/ironstate/internal/try"
)

// document is states/testdata/series.json.
type document struct {
	Series map[string]entry `json:"series"`
	Source string           `json:"source"`
}

// entry has the states, the events and the words of one version of Ironic. A nil word stands for Python's None.
type entry struct {
	APIMax      string               `json:"api_max"`
	Sets        map[string][]*string `json:"sets"`
	States      map[string]state     `json:"states"`
	Tag         string               `json:"tag"`
	Transitions [][3]string          `json:"transitions"`
	Verbs       map[string]string    `json:"verbs"`
}

type state struct {
	Stable bool    `json:"stable"`
	Target *string `json:"target"`
}

func readSeries(name string) (document, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return document{}, err
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return document{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

func (d document) write(name string) error {
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(data, '\n'), 0o644)
}

//go:embed read.py
var reader string

// sources are the files that read.py runs or reads. A version need not have all of them.
var sources = []string{
	"ironic/common/states.py",
	"ironic/common/state_machine.py",
	"ironic/api/controllers/v1/versions.py",
	"ironic/api/controllers/v1/__init__.py",
}

// readEntry reads a version of Ironic: a revision of a repository or, if the revision is
// empty, the files of a folder.
func readEntry(ctx context.Context, dir, revision string) (e entry, err error) {
	err = try.Catch(func() {
		texts := make(map[string]string)
		for _, name := range sources {
			if text := try.Get(source(ctx, dir, revision, name)); text != "" {
				texts[name] = text
			}
		}
		if texts[sources[0]] == "" {
			try.Failf("%s at revision %q has no %s", dir, revision, sources[0])
		}
		out := try.Get(command(ctx, try.Get(json.Marshal(texts)), "python3", "-c", reader))
		e.Tag = revision
		try.OKf(json.Unmarshal(out, &e), "facts of Ironic %s", revision)
	})
	return e, err
}

// source returns the text of a file, "" if there is none.
func source(ctx context.Context, dir, revision, name string) (string, error) {
	if revision == "" {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return string(data), err
	}
	listed, err := command(ctx, nil, "git", "-C", dir, "ls-tree", "--full-tree", "--name-only", revision, name)
	if err != nil || len(listed) == 0 {
		return "", err
	}
	text, err := command(ctx, nil, "git", "-C", dir, "show", revision+":"+name)
	return string(text), err
}

func command(ctx context.Context, input []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = bytes.NewReader(input)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, errOut.Bytes())
	}
	return out, nil
}
