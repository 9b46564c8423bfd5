// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
)

// networkSchema describes network data. It does not restrict the items of the lists.
//
// Source: ironic/api/controllers/v1/network-data-schema.json.
var networkSchema = &schema.Schema{
	Types: []string{"object"}, Required: []string{"links", "networks", "services"},
	Properties: []schema.Property{
		{Name: "links", Schema: &schema.Schema{Types: []string{"array"}}}, {Name: "networks", Schema: &schema.Schema{Types: []string{"array"}}}, {Name: "services", Schema: &schema.Schema{Types: []string{"array"}}},
	},
}

// raidSchema describes a RAID configuration.
//
// Source: ironic/drivers/raid_config_schema.json.
var raidSchema = &schema.Schema{
	Types: []string{"object"}, Required: []string{"logical_disks"}, Closed: true,
	Properties: []schema.Property{{Name: "logical_disks", Schema: &schema.Schema{Types: []string{"array"}, Items: diskSchema, MinItems: 1}}},
}

var diskSchema = &schema.Schema{
	Types: []string{"object"}, Required: []string{"raid_level", "size_gb"}, Closed: true,
	Needs: [][2]string{{"physical_disks", "controller"}},
	Properties: []schema.Property{
		{Name: "raid_level", Schema: &schema.Schema{Types: []string{"string"}, Enum: []string{"JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"}}},
		{Name: "size_gb", Schema: &schema.Schema{AnyOf: []*schema.Schema{
			{Types: []string{"integer"}, Min: "0", Draft4: true}, {Types: []string{"string"}, Enum: []string{"MAX"}},
		}}},
		{Name: "volume_name", Schema: schema.Text},
		{Name: "is_root_volume", Schema: schema.Boolean},
		{Name: "share_physical_disks", Schema: schema.Boolean},
		{Name: "disk_type", Schema: &schema.Schema{Types: []string{"string"}, Enum: []string{"hdd", "ssd"}}},
		{Name: "interface_type", Schema: &schema.Schema{Types: []string{"string"}, Enum: []string{"sata", "scsi", "sas"}}},
		{Name: "number_of_physical_disks", Schema: &schema.Schema{Types: []string{"integer"}, Min: "0", Above: true, Draft4: true}},
		{Name: "controller", Schema: schema.Text},
		{Name: "physical_disks", Schema: &schema.Schema{AnyOf: []*schema.Schema{
			{Types: []string{"array"}, Items: schema.Text}, {Types: []string{"array"}, Items: schema.Object, MinItems: 2},
		}}},
	},
}
