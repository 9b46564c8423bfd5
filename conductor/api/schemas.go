package api

// networkSchema describes network data. It does not restrict the items of the lists.
//
// Source: ironic/api/controllers/v1/network-data-schema.json.
var networkSchema = &schema{
	types: []string{"object"}, required: []string{"links", "networks", "services"},
	properties: []property{
		{"links", &schema{types: []string{"array"}}}, {"networks", &schema{types: []string{"array"}}}, {"services", &schema{types: []string{"array"}}},
	},
}

// raidSchema describes a RAID configuration.
//
// Source: ironic/drivers/raid_config_schema.json.
var raidSchema = &schema{
	types: []string{"object"}, required: []string{"logical_disks"}, closed: true,
	properties: []property{{"logical_disks", &schema{types: []string{"array"}, items: diskSchema, minItems: 1}}},
}

var diskSchema = &schema{
	types: []string{"object"}, required: []string{"raid_level", "size_gb"}, closed: true,
	needs: [][2]string{{"physical_disks", "controller"}},
	properties: []property{
		{"raid_level", &schema{types: []string{"string"}, enum: []string{"JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"}}},
		{"size_gb", &schema{anyOf: []*schema{
			{types: []string{"integer"}, min: "0", draft4: true}, {types: []string{"string"}, enum: []string{"MAX"}},
		}}},
		{"volume_name", textSchema},
		{"is_root_volume", booleanSchema},
		{"share_physical_disks", booleanSchema},
		{"disk_type", &schema{types: []string{"string"}, enum: []string{"hdd", "ssd"}}},
		{"interface_type", &schema{types: []string{"string"}, enum: []string{"sata", "scsi", "sas"}}},
		{"number_of_physical_disks", &schema{types: []string{"integer"}, min: "0", above: true, draft4: true}},
		{"controller", textSchema},
		{"physical_disks", &schema{anyOf: []*schema{
			{types: []string{"array"}, items: textSchema}, {types: []string{"array"}, items: objectSchema, minItems: 2},
		}}},
	},
}
