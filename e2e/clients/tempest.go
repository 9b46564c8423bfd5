// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"net/http/httptest"
	"strings"
)

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

// TempestModules lists the modules of tempest's tests of the bare metal API.
func (d Debian) TempestModules(ctx context.Context) ([]string, error) {
	return d.suiteModules(ctx, tempestTests)
}

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
