// SPDX-License-Identifier: Apache-2.0

// Package fleet has the test of "ironstate fleet" with a real Ironic, which installs its machines.
package fleet
