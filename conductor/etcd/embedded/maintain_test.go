// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePlanOfTheMaintenance(t *testing.T) {
	const quota, reserve = 16, 8
	for size := range int64(20) {
		for used := range size + 1 {
			for free := range int64(40) {
				for _, alarm := range []bool{false, true} {
					c := condition{size: size, used: used, quota: quota, free: free, reserve: reserve, alarm: alarm}
					todo := c.plan()
					if free < reserve {
						require.Equal(t, work{raise: !alarm}, todo, "%+v: without space nothing else is written", c)
						continue
					}
					require.False(t, todo.raise, "%+v", c)
					require.Equal(t, alarm && free >= reserve+reserve/4, todo.disarm, "%+v", c)
					if todo.defrag {
						require.GreaterOrEqual(t, free-used, int64(reserve), "%+v: its copy leaves the reserve", c)
					}
					require.False(t, todo.compact && !alarm, "%+v: the history is of use until space is needed", c)
					if size >= quota/2 && used <= size/2 && free-used >= reserve && !c.low() {
						require.True(t, todo.defrag, "%+v", c)
					}
				}
			}
		}
	}
}
