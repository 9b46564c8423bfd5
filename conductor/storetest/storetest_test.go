// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestAStoreThatKeepsItsPromisesPasses(t *testing.T) {
	require.NoError(t, storetest.Check(new(conductor.Memory)))
	m := new(conductor.Memory)
	require.NoError(t, storetest.Check(m, m), "as two handles")
}
