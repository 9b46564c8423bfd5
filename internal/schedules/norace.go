// SPDX-License-Identifier: Apache-2.0

//go:build !race

package schedules

// Raced says that the race detector is on, which makes searches several times slower.
const Raced = false
