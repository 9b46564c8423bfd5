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
	"strings"
)

//go:embed python/suite.py
var suiteProgram string

// clouds is a configuration of openstacksdk: a cloud with an Ironic only, under the names
// that the tests use.
const clouds = `
clouds:
  devstack: &ironic
    auth_type: none
    auth: {endpoint: ENDPOINT}
    has_compute: false
    has_image: false
  devstack-alt: *ironic
  devstack-admin: *ironic
`

// exUnavailable is the exit status of suiteProgram if a Python module is missing.
const exUnavailable = 69

// SDKModules lists the modules of openstacksdk's functional tests of bare metal.
func SDKModules(ctx context.Context) ([]string, error) {
	found, err := suite(ctx, "", nil)
	var names []string
	for _, module := range found {
		names = append(names, module.Name)
	}
	return names, err
}

// SDK runs modules of openstacksdk's functional tests of bare metal, one after the
// other, against the API at endpoint. An error means that the tests did not run to the
// end.
//
// Concurrent calls need modules that do not create nodes of equal names, or separate
// servers.
func SDK(ctx context.Context, endpoint string, modules ...string) ([]Result, error) {
	if len(modules) == 0 {
		return nil, nil
	}
	return suite(ctx, endpoint, modules)
}

func suite(ctx context.Context, endpoint string, modules []string) (results []Result, err error) {
	dir, err := os.MkdirTemp("", "clients-")
	if err != nil {
		return nil, fmt.Errorf("clients: make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config := filepath.Join(dir, "clouds.yaml")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(clouds, "ENDPOINT", endpoint)), 0o600); err != nil {
		return nil, fmt.Errorf("clients: configure openstacksdk: %w", err)
	}
	cmd, err := python(ctx, suiteProgram, dir, modules, []string{
		"HOME=" + dir, "OS_CLIENT_CONFIG_FILE=" + config,
		"OS_TEST_TIMEOUT=120", // timeout of a test in seconds, 5 by default
	})
	if err != nil {
		return nil, err
	}
	var logged bytes.Buffer
	cmd.Stderr = &logged
	output, err := cmd.Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended && exit.ExitCode() == exUnavailable {
		return nil, failed(ErrNotInstalled, "openstacksdk's tests", logged.Bytes())
	}
	if err != nil {
		return nil, failed(err, "openstacksdk's tests", logged.Bytes())
	}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var result Result
		if err := decoder.Decode(&result); errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil {
			return nil, fmt.Errorf("clients: results of openstacksdk's tests: %w", err)
		}
		results = append(results, result)
	}
}
