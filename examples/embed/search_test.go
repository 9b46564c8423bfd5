// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ironstate/ironstate/internal/needs" // therefore apart from kill_test.go, which is made to be copied
)

func TestNoKillAtARandomMomentLosesANotice(t *testing.T) {
	needs.Chance(t)
	requireAllTold(t, func() time.Duration { return rand.N(20 * time.Millisecond) })
}
