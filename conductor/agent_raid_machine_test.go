// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestTheNodeKnowsTheRAIDThatItsAgentHasMade(t *testing.T) {
	for name, test := range map[string]struct {
		result any
		want   states.State
	}{
		"a configuration": {
			map[string]any{"logical_disks": []any{map[string]any{"size_gb": 100, "raid_level": "1", "is_root_volume": true}}},
			states.Manageable,
		},
		"none": {nil, states.CleanFail},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Manageable, nil)
				create := step("create_configuration", 0)
				create["interface"] = "raid"
				m.set(func(a *agentProgram) { a.steps["clean"] = append(a.steps["clean"], create) })
				m.clean("raid.create_configuration")
				m.boot()
				m.set(func(a *agentProgram) {
					a.commands[len(a.commands)-1]["command_result"].(map[string]any)["clean_result"] = test.result
				})
				n := m.end("SUCCEEDED", "")
				if test.want == states.CleanFail {
					m.requireState(n, states.CleanFail, fmt.Sprintf("For node %s, the result of clean step raid.create_configuration cannot be used: "+
						"the agent has not reported the RAID configuration that it has made", n.UUID))
					return
				}
				m.requireState(n, test.want, "")
				require.Equal(t, "100", fmt.Sprint(n.Properties["local_gb"]))
				require.Equal(t, "boot_mode:uefi,raid_level:1", n.Properties["capabilities"])
				require.Len(t, n.RAIDConfig["logical_disks"], 1)
				require.NotEmpty(t, n.RAIDConfig["last_updated"])
			})
		})
	}
}
