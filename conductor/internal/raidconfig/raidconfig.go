// SPDX-License-Identifier: Apache-2.0

// Package raidconfig reads the RAID configuration that Ironic's agent has made of a machine's disks, and says what
// follows for the record of its node.
package raidconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/exactjson"
)

// maxBytes bounds the result of a step that has a configuration.
const maxBytes = 64 << 10

// Config is the RAID configuration of a machine.
type Config struct {
	object map[string]any
	root   map[string]any // the logical disk that is the root volume; nil for none
}

// Parse returns the configuration that the result of a step of the agent has under a key, such as "clean_result". A
// result without one is an error.
func Parse(result json.RawMessage, key string) (Config, error) {
	if len(result) > maxBytes {
		return Config{}, fmt.Errorf("the agent's RAID configuration has %d bytes: want %d at most", len(result), maxBytes)
	}
	var outcome map[string]json.RawMessage
	var object map[string]any
	if exactjson.Unmarshal(result, &outcome) != nil || exactjson.Unmarshal(outcome[key], &object) != nil || len(object) == 0 {
		return Config{}, errors.New("the agent has not reported the RAID configuration that it has made")
	}
	object = errtext.Object(object)
	root, err := rootVolume(object)
	return Config{object, root}, err
}

// rootVolume returns the logical disk of a configuration that is the root volume, nil for none.
//
// Source: _check_and_return_root_volumes in ironic/common/raid.py.
func rootVolume(object map[string]any) (root map[string]any, err error) {
	disks, ok := object["logical_disks"].([]any)
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

// Record returns the raid_config of a node whose configuration was made at a time. The caller owns the map, and shares
// its values.
//
// Source: update_raid_info in ironic/common/raid.py.
func (c Config) Record(at time.Time) map[string]any {
	record := maps.Clone(c.object)
	record["last_updated"] = at.UTC().Format("2006-01-02 15:04:05.000000")
	return record
}

// Properties returns the properties of a node with what the root volume changes: the size, the hint by which
// deployments find the disk, and the capability raid_level. It leaves the old map as it is.
//
// Source: update_raid_info in ironic/common/raid.py.
func (c Config) Properties(old map[string]any) map[string]any {
	changed := map[string]any{}
	if size, ok := c.root["size_gb"].(json.Number); ok { // not "MAX"
		if gb, err := size.Float64(); err == nil {
			changed["local_gb"] = int(gb)
		}
	}
	if hint, ok := c.root["root_device_hint"].(map[string]any); ok {
		changed["root_device"] = hint
	}
	if level, ok := c.root["raid_level"].(string); ok {
		all, _ := old["capabilities"].(string)
		kept := slices.DeleteFunc(strings.Split(all, ","), func(capability string) bool {
			name, _, _ := strings.Cut(capability, ":")
			return name == "" || name == "raid_level"
		})
		changed["capabilities"] = strings.Join(append(kept, "raid_level:"+level), ",")
	}
	if len(changed) == 0 {
		return old
	}
	properties := map[string]any{}
	maps.Copy(properties, old)
	maps.Copy(properties, changed)
	return properties
}

// BySoftware reports whether a target_raid_config has a logical disk by software.
//
// Source: is_software_raid in ironic/drivers/modules/deploy_utils.py.
func BySoftware(target map[string]any) bool {
	disks, _ := target["logical_disks"].([]any)
	return slices.ContainsFunc(disks, func(item any) bool {
		disk, _ := item.(map[string]any)
		return disk["controller"] == "software"
	})
}
