// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"testing"
	"time"
)

func TestAdmission(t *testing.T) {
	t.Parallel()
	i := start(t, lockAtOnce)
	for _, compare := range compareAdmission(false) {
		began := time.Now()
		c, err := compare(t.Context(), i)
		t.Logf("in %v", time.Since(began))
		requireSame(t, c, err)
	}
}
