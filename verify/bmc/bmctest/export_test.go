// SPDX-License-Identifier: Apache-2.0

package bmctest

// Effects that only [Effects] returns.
var (
	Drip    = drip
	Garbage = garbage
)
