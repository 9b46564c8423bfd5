// SPDX-License-Identifier: Apache-2.0

// Package lockstep runs a real Ironic beside this module and searches for
// differences. It measures the claim that ironstate does what Ironic does.
//
// [Start] starts an Ironic on loopback, with the API and the conductor in one process.
// Its hardware is either fake, with a driver for which the test sets the outcome of the
// work (python/driver.py), or Debian's ipmi_sim behind Ironic's ipmitool driver. Each
// comparison gives the same inputs to Ironic and to this module and returns a
// [Comparison]. [Run.Do] makes all comparisons, and the command lockstep prints them as a
// report.
//
// The Ironic is the one of this machine, or one of a later series in a folder that e2e/ironic/make.sh has made: the
// tables, the API versions and the conductor of this module's side are of its series.
//
// Ironic is installed by the Debian packages ironic-api and ironic-conductor. If they
// are missing, Start's error matches [ErrNotInstalled].
package lockstep
