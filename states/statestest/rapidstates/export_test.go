// SPDX-License-Identifier: Apache-2.0

package rapidstates

// Seeds is seeds.
var Seeds = seeds
