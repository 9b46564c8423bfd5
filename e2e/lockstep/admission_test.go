// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"testing"

	"github.com/ironstate/ironstate/internal/needs"
)

func TestAdmission(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	requireAllSame(t, start(t, lockAtOnce), compareSomeAdmission()...)
}
