// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"maps"
	"net/netip"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/exactjson"
)

// AgentInfo is what the record of a node holds of the agent on its machine. Ironic has it in driver_internal_info, see
// [Node.InternalInfo].
type AgentInfo struct {
	URL string `json:"url,omitzero"` // of the agent's API, from its heartbeats
	// From is the address from which the lookup with the token came, and then the last heartbeat.
	From netip.Addr `json:"from,omitzero"`
	// Token is the secret in the agent's heartbeats and in the commands to it. It is empty if the record has nothing of an
	// agent.
	Token string `json:"token,omitzero"`
	// TokenPregenerated is set if the token was made before the boot, see [Task.PregenerateAgentToken].
	TokenPregenerated bool   `json:"token_pregenerated,omitzero"`
	VerifyCA          string `json:"verify_ca,omitzero"` // the certificate of the agent's API in PEM, if it has sent one
	Version           string `json:"version,omitzero"`
	// LastHeartbeat is the time of the last heartbeat, or of inspection data.
	LastHeartbeat time.Time `json:"last_heartbeat,omitzero"`
	// Steps are the agent's steps for the kinds of work for which the conductor has asked it since its boot.
	Steps map[agent.Work]AgentSteps `json:"steps,omitzero"`
	// Managers are the versions of the agent's hardware managers, by name. They are sent with each step.
	Managers map[string]any `json:"managers,omitzero"`
}

// DeploymentInfo is what the record of a node holds of the image of its instance. Ironic has it in
// driver_internal_info.
type DeploymentInfo struct {
	// WholeDisk says whether the image is a whole-disk image or a partition image; nil if the conductor does not know.
	WholeDisk *bool  `json:"whole_disk,omitzero"`
	BootMode  string `json:"boot_mode,omitzero"`  // of the instance: "bios" or "uefi"
	Root      string `json:"root,omitzero"`       // the UUID of the root partition, or the identifier of the disk
	ImageSize int64  `json:"image_size,omitzero"` // in bytes, as the agent downloads it; 0 if it is unknown
}

// AgentSteps are the steps of an agent for a kind of work, as it has listed them at a time.
type AgentSteps struct {
	Steps     []agent.Step `json:"steps"`
	Refreshed time.Time    `json:"refreshed"`
}

// hasSteps reports whether the agent was asked for its steps for a kind of work since its boot.
func (a AgentInfo) hasSteps(w agent.Work) bool {
	_, has := a.Steps[w]
	return has
}

// clone returns a copy whose maps may be modified.
func (a AgentInfo) clone() AgentInfo {
	a.Steps, a.Managers = maps.Clone(a.Steps), maps.Clone(a.Managers)
	return a
}

// InternalInfo returns driver_internal_info as Ironic has it, without the steps of the node's work: DriverInternalInfo,
// Agent, Deployment and PowerChangedAt. The caller owns the map. It contains secrets.
func (n *Node) InternalInfo() map[string]any {
	info := map[string]any{}
	maps.Copy(info, n.DriverInternalInfo)
	a, d := n.Agent, n.Deployment
	for key, text := range map[string]string{
		"agent_url": a.URL, "agent_secret_token": a.Token, "agent_verify_ca": a.VerifyCA, "agent_version": a.Version,
		"deploy_boot_mode": d.BootMode, "root_uuid_or_disk_id": d.Root,
	} {
		if text != "" {
			info[key] = text
		}
	}
	if d.WholeDisk != nil {
		info["is_whole_disk_image"] = *d.WholeDisk
	}
	if n.PowerChangedAt != nil {
		info["last_power_state_change"] = n.PowerChangedAt.Format(internalTime)
	}
	if a.TokenPregenerated {
		info["agent_secret_token_pregenerated"] = true
	}
	if !a.LastHeartbeat.IsZero() {
		info["agent_last_heartbeat"] = a.LastHeartbeat.Format(internalTime)
	}
	for work, known := range a.Steps {
		type listed struct { // an agent names its reboots, also if there is none
			agent.Step
			RebootRequested bool `json:"reboot_requested"`
		}
		byInterface := map[string][]listed{}
		for _, step := range known.Steps {
			byInterface[step.Interface] = append(byInterface[step.Interface], listed{step, step.RebootRequested})
		}
		key := "agent_cached_" + string(work) + "_steps"
		info[key], _ = fromJSON[map[string]any](byInterface) // never fails
		info[key+"_refreshed"] = known.Refreshed.Format(internalTime)
	}
	if a.Managers != nil {
		info["hardware_manager_version"] = a.Managers
	}
	return info
}

// forgetAgent removes the data of an agent that is no longer in use. Work that begins or has ended
// forgets the agent, since the agent of the next boot needs a new token.
//
// Source: wipe_token_and_url in ironic/conductor/utils.py.
func (n *Node) forgetAgent() {
	n.Agent = AgentInfo{Version: n.Agent.Version, LastHeartbeat: n.Agent.LastHeartbeat}
}

// forgetBootedAgent is forgetAgent for an agent that has ended because its machine was powered off
// or rebooted. A token that was made before the boot is kept, since the next agent has it too, and so
// are the versions of the hardware managers, by which the next agent knows whether they have changed.
//
// Source: wipe_internal_info_on_power_off in ironic/conductor/utils.py.
func (n *Node) forgetBootedAgent() {
	before := n.Agent
	n.forgetAgent()
	n.Agent.Managers = before.Managers
	if before.TokenPregenerated {
		n.Agent.Token, n.Agent.TokenPregenerated = before.Token, true
	}
}

// setKey stores a value in a map of a record and creates the map if it is nil.
func setKey(m *map[string]any, key string, value any) {
	if *m == nil {
		*m = map[string]any{}
	}
	(*m)[key] = value
}

// fromJSON converts a decoded JSON value to a typed one.
func fromJSON[T any](value any) (v T, err error) {
	text, err := json.Marshal(value)
	if err == nil {
		err = exactjson.Unmarshal(text, &v)
	}
	return v, err
}

func asNumber(value any) (float64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
