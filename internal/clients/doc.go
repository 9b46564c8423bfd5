// Package clients runs Ironic's own clients, none of them ours, against a server of
// Ironic's API: the command line client baremetal ([StartBaremetal]), the functional
// tests that openstacksdk has of bare metal ([SDK]), and gophercloud's acceptance
// tests of bare metal ([Gophercloud]).
//
// The tests run them against a real Ironic and then against this repository's, with
// the same expectations of both. The client and openstacksdk come as the Debian
// packages python3-ironicclient and python3-oslotest; where they are missing, the
// errors match [ErrNotInstalled].
package clients
