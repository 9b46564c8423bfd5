// SPDX-License-Identifier: Apache-2.0

// Package rapidseed makes the property tests of a package that imports it the same in each run: rapid begins with seed
// 1. The flag -rapid.seed and the environment variable RAPID_SEED give another seed; 0 stands for a random one.
//
//	import _ "github.com/ironstate/ironstate/internal/rapidseed"
package rapidseed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // has the flag
)

func init() {
	seed := "1"
	if given := os.Getenv("RAPID_SEED"); given != "" {
		seed = given
	}
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic("RAPID_SEED: " + err.Error())
	}
}
