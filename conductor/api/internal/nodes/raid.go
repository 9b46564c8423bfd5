// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// setRAID answers PUT /v1/nodes/NODE/states/raid.
var setRAID = checks{
	bodyDecodes, raidIsObject, nodeNamedOnce, nodeExists, from(since.RAID, fault.NotAcceptable),
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.NoContent, q.update(func(n *node) error {
		if len(q.body) > 0 && !q.Describe(n.Driver).Has(n, "raid") {
			return conductor.Held(&fault.Fault{Status: http.StatusNotFound, Text: conductor.UnsupportedText(n.Driver, "raid")})
		}
		n.TargetRAIDConfig = q.body
		return conductor.Held(checkRAID(q.Series, q.body))
	})
})

// raidIsObject refuses another body than an object.
func raidIsObject(q *request) error {
	if q.body == nil {
		return fault.Invalid("Expected types <class 'dict'> for target_raid_config: %s", fault.Show(q.sent))
	}
	return nil
}

// nodeNamedOnce refuses a node that both the path and the query have: a query without a node in the path has none left.
func nodeNamedOnce(q *request) error {
	if name := rest.NodeIdent[0]; q.Query.Has(name) {
		return fault.Invalid("The path and the query both have the argument %s", name)
	}
	return nil
}

// checkRAID refuses an invalid RAID configuration. An empty one is valid: it removes the
// configuration.
//
// Source: ironic/common/raid.py.
func checkRAID(series states.Series, config map[string]any) error {
	if len(config) == 0 {
		return nil
	}
	valid := *raidSchema
	valid.Recent = series >= states.Gazpacho
	if text, _, refused := valid.Refusal(config); refused {
		return fault.Invalid("RAID config validation error: %s", text)
	}
	roots := 0
	for _, disk := range config["logical_disks"].([]any) {
		if disk.(map[string]any)["is_root_volume"] == true {
			roots++
		}
	}
	if roots > 1 {
		return fault.Invalid("Raid config cannot have more than one root volume. %d root volumes were specified", roots)
	}
	return nil
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
		{Name: "raid_level", Schema: &schema.Schema{Types: []string{"string"},
			Enum: []string{"JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"}}},
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
