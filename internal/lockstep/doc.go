// Package lockstep runs a real Ironic beside this module and looks for
// differences: the claim that ironstate does what Ironic does, measured.
//
// [Start] starts an Ironic of its own on loopback, API and conductor in one
// process, with fake hardware whose work ends as it is told to (python/driver.py
// is a driver that Ironic loads) or with Debian's ipmi_sim behind its ipmitool
// driver. Each comparison puts the same to both sides and returns a
// [Comparison]; [All] has them all, and the command lockstep, below, prints them
// as a report.
//
// Ironic comes as the Debian packages ironic-api and ironic-conductor; where they
// are missing, Start's error matches [ErrNotInstalled].
package lockstep
