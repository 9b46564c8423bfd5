// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"flag"
	"testing"

	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) {
	// The parallel tests mostly wait; -parallel overrides the number.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaks.Main(m)
}
