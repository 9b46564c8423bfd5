// SPDX-License-Identifier: Apache-2.0

// Package clients runs existing clients of Ironic against a server of Ironic's API: the
// command line client baremetal ([Debian.StartBaremetal]), openstacksdk's functional tests of
// bare metal ([Debian.SDK]), gophercloud's acceptance tests of bare metal ([Gophercloud]), and
// tempest's tests of the bare metal API ([Debian.Tempest]).
//
// The tests run these clients against a real Ironic and against this repository's
// conductor, with the same expectations. The Debian packages python3-ironicclient,
// python3-oslotest and ironic-tempest-plugin install the clients; if one is missing, the
// errors match [ErrNotInstalled].
package clients
