// Package clients runs existing clients of Ironic against a server of Ironic's API: the
// command line client baremetal ([StartBaremetal]), openstacksdk's functional tests of
// bare metal ([SDK]), and gophercloud's acceptance tests of bare metal ([Gophercloud]).
//
// The tests run these clients against a real Ironic and against this repository's
// conductor, with the same expectations. The Debian packages python3-ironicclient and
// python3-oslotest install the client and openstacksdk; if they are missing, the errors
// match [ErrNotInstalled].
package clients
