// SPDX-License-Identifier: Apache-2.0

package powersync_test

import (
	"testing"

	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
