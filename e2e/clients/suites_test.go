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
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// modules lists the modules of a package of tests: sdkTests or tempestTests.
func (d Debian) modules(ctx context.Context, tests string) ([]string, error) {
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

// sdkTests is the Python package of openstacksdk's functional tests of bare metal.
const sdkTests = "openstack.tests.functional.baremetal"

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
  devstack-system-admin: *ironic
`

// SDK runs modules of openstacksdk's functional tests of bare metal, one after the
// other, against the API at endpoint. An error means that the tests did not run to the
// end.
//
// Concurrent calls need modules that do not create nodes of equal names, or separate
// servers.
func (d Debian) SDK(ctx context.Context, endpoint string, modules ...string) ([]Result, error) {
	if len(modules) == 0 {
		return nil, nil
	}
	return suite{
		debian: d, tests: sdkTests, modules: modules,
		files: map[string]string{"clouds.yaml": strings.ReplaceAll(clouds, "ENDPOINT", endpoint)},
		env: []string{
			"OS_CLIENT_CONFIG_FILE=clouds.yaml",
			"OS_TEST_TIMEOUT=0", // no timeout of a test, which is 5 s by default
		},
	}.run(ctx)
}

// tempestTests is the Python package of tempest's tests of the bare metal API.
const tempestTests = "ironic_tempest_plugin.tests.api.admin"

// tempestConfig is a configuration of tempest for an Ironic only.
const tempestConfig = `
[DEFAULT]
use_stderr = false
log_file = tempest.log
[oslo_concurrency]
lock_path = locks
[auth]
use_dynamic_credentials = false
test_accounts_file = accounts.yaml
[identity]
uri_v3 = KEYSTONE/v3
auth_version = v3
[service_available]
ironic = true
neutron = false
nova = false
glance = false
cinder = false
swift = false
[baremetal]
min_microversion = 1.1
enabled_hardware_types = fake-hardware,ipmi
`

// tempestAccounts are the accounts of the tests. A class of tests takes two: any of them, and one
// with the scope of the system. There are two of the latter, since any may be one of these.
const tempestAccounts = `
- {username: project, project_name: admin, password: ` + keystonePassword + `, domain_name: Default, types: [admin]}
- {username: system1, system: all, password: ` + keystonePassword + `, user_domain_name: Default, roles: [admin]}
- {username: system2, system: all, password: ` + keystonePassword + `, user_domain_name: Default, roles: [admin]}
`

// Tempest runs modules of tempest's tests of the bare metal API, one after the other,
// against the API at endpoint. An error means that the tests did not run to the end.
// Concurrent calls need separate servers.
func (d Debian) Tempest(ctx context.Context, endpoint string, modules ...string) ([]Result, error) {
	if len(modules) == 0 {
		return nil, nil
	}
	keystone := httptest.NewServer(Keystone(endpoint))
	defer keystone.Close()
	return suite{
		debian: d, tests: tempestTests, modules: modules,
		files: map[string]string{
			"tempest.conf":  strings.ReplaceAll(tempestConfig, "KEYSTONE", keystone.URL),
			"accounts.yaml": tempestAccounts,
		},
		env: []string{"TEMPEST_CONFIG_DIR=.", "TEMPEST_CONFIG=tempest.conf"},
	}.run(ctx)
}
