// SPDX-License-Identifier: Apache-2.0

//go:build race

package bmc_test

// raced says that the tests run with the race detector, which makes them ten times slower.
const raced = true
