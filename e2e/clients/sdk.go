// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"strings"
)

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

// SDKModules lists the modules of openstacksdk's functional tests of bare metal.
func (d Debian) SDKModules(ctx context.Context) ([]string, error) {
	return d.suiteModules(ctx, sdkTests)
}

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
