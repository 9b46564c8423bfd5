// SPDX-License-Identifier: Apache-2.0

// Package keyprefix has the rule for the prefixes of keys, which is the same for etcd's servers elsewhere and in this
// process.
package keyprefix

import (
	"strings"

	"github.com/ironstate/ironstate/machine"
)

// Default stands for an empty prefix.
const Default = "/ironstate"

// Check returns a [*machine.ConfigError] for the field Prefix of a package's Config.
func Check(pkg, prefix string) error {
	if prefix == "" || strings.HasPrefix(prefix, "/") && !strings.HasSuffix(prefix, "/") {
		return nil
	}
	return &machine.ConfigError{Package: pkg, Field: "Prefix", Value: prefix, Want: "one that begins with a slash and ends without one"}
}
