// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/storetest"
)

func TestTheMembershipOfTheExampleKeepsItsPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := storetest.Process{Membership: newLocalMembership()}
		require.NoError(t, storetest.CheckMembership(time.Second, p, p))
	})
}
