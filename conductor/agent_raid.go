// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/exactjson"
)

// maxRAIDConfig bounds the RAID configuration that an agent reports, in bytes.
const maxRAIDConfig = 64 << 10

// raidStepDone returns the change of a node's record that follows a RAID step which the agent has done, nil for any
// other step.
//
// Source: the hooks of AgentRAID in ironic/drivers/modules/agent.py.
func raidStepDone(w agent.Work, step string, result json.RawMessage, at time.Time) (change func(*Node) error, err error) {
	switch {
	case w == agent.Clean && step == "raid.delete_configuration":
		return func(n *Node) error {
			delete(n.Properties, "root_device")
			n.RAIDConfig = map[string]any{}
			return nil
		}, nil
	case w == agent.Clean && step == "raid.create_configuration", w == agent.Deploy && step == "raid.apply_configuration":
	default:
		return nil, nil
	}
	if len(result) > maxRAIDConfig {
		return nil, fmt.Errorf("the agent's RAID configuration has %d bytes: want %d at most", len(result), maxRAIDConfig)
	}
	var outcome map[string]json.RawMessage
	var config map[string]any
	if exactjson.Unmarshal(result, &outcome) != nil || exactjson.Unmarshal(outcome[string(w)+"_result"], &config) != nil || len(config) == 0 {
		return nil, errors.New("the agent has not reported the RAID configuration that it has made")
	}
	config = errtext.Object(config)
	root, err := rootVolume(config)
	if err != nil {
		return nil, err
	}
	return func(n *Node) error {
		n.RAIDConfig = maps.Clone(config)
		n.RAIDConfig["last_updated"] = at.UTC().Format("2006-01-02 15:04:05.000000")
		n.noteRootVolume(root)
		return nil
	}, nil
}

// noteRAID stores what a step that the agent has done changes in the node's RAID configuration.
func (t *Task) noteRAID(ctx context.Context, w agent.Work, step *Step, command agent.Command) error {
	change, err := raidStepDone(w, step.String(), command.Result, time.Now())
	if change == nil || err != nil {
		return err
	}
	return t.Update(ctx, change)
}

// rootVolume returns the logical disk of a RAID configuration that is the root volume, nil for none.
//
// Source: _check_and_return_root_volumes in ironic/common/raid.py.
func rootVolume(config map[string]any) (root map[string]any, err error) {
	disks, ok := config["logical_disks"].([]any)
	if !ok {
		return nil, errors.New("the agent's RAID configuration has no list of logical_disks")
	}
	for _, item := range disks {
		disk, _ := item.(map[string]any)
		switch {
		case disk["is_root_volume"] != true:
		case root != nil:
			return nil, errors.New("the agent's RAID configuration has more than one root volume")
		default:
			root = disk
		}
	}
	return root, nil
}

// noteRootVolume sets the properties of a node by its root volume: the size, the hint by which deployments find the
// disk, and the capability raid_level.
//
// Source: update_raid_info in ironic/common/raid.py.
func (n *Node) noteRootVolume(root map[string]any) {
	if root == nil {
		return
	}
	if size, ok := number(root["size_gb"]); ok { // not "MAX"
		set(&n.Properties, "local_gb", int(size))
	}
	if hint, ok := root["root_device_hint"].(map[string]any); ok {
		set(&n.Properties, "root_device", hint)
	}
	level, ok := root["raid_level"].(string)
	if !ok {
		return
	}
	all, _ := n.Properties["capabilities"].(string)
	var kept []string
	for _, capability := range strings.Split(all, ",") {
		if name, _, _ := strings.Cut(capability, ":"); name != "" && name != "raid_level" {
			kept = append(kept, capability)
		}
	}
	set(&n.Properties, "capabilities", strings.Join(append(kept, "raid_level:"+level), ","))
}
