// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed python/suite.py
var suiteProgram string

// exUnavailable is the exit status of suiteProgram if a Python module is missing.
const exUnavailable = 69

// suite is a client's tests in Python, with their requirements.
type suite struct {
	debian  Debian
	tests   string            // the Python package of the tests
	modules []string          // its modules to run; none lists all modules
	files   map[string]string // files in the folder in which the tests run, by name
	env     []string          // environment variables in addition to python's
}

// suiteModules lists the modules of a package of tests.
func (d Debian) suiteModules(ctx context.Context, tests string) ([]string, error) {
	found, err := suite{debian: d, tests: tests}.run(ctx)
	var names []string
	for _, module := range found {
		names = append(names, module.Name)
	}
	return names, err
}

// run runs the tests in a new folder. An error means that they did not run to the end.
func (s suite) run(ctx context.Context) (results []Result, err error) {
	dir, err := os.MkdirTemp("", "clients-")
	if err != nil {
		return nil, fmt.Errorf("clients: make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range s.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("clients: configure %s: %w", s.tests, err)
		}
	}
	cmd, err := s.debian.python(ctx, suiteProgram, dir, append([]string{s.tests}, s.modules...), append([]string{"HOME=" + dir}, s.env...))
	if err != nil {
		return nil, err
	}
	var logged bytes.Buffer
	cmd.Stderr = &logged
	output, err := cmd.Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended && exit.ExitCode() == exUnavailable {
		return nil, failed(ErrNotInstalled, s.tests, logged.Bytes())
	}
	if err != nil {
		return nil, failed(err, s.tests, logged.Bytes())
	}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var result Result
		if err := decoder.Decode(&result); errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil {
			return nil, fmt.Errorf("clients: results of %s: %w", s.tests, err)
		}
		results = append(results, result)
	}
}
