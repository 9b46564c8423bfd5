// Package lockstep runs a real Ironic beside this module and searches for
// differences. It measures the claim that ironstate does what Ironic does.
//
// [Start] starts an Ironic on loopback, API and conductor in one process. Its hardware
// is fake, with work whose outcome the test sets (python/driver.py is a driver that
// Ironic loads), or Debian's ipmi_sim behind its ipmitool driver. Each comparison gives
// the same inputs to both sides and returns a [Comparison]. [All] makes all of them,
// and the command lockstep prints them as a report.
//
// Ironic comes as the Debian packages ironic-api and ironic-conductor; if they are
// missing, Start's error matches [ErrNotInstalled].
package lockstep
