// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/states"
)

var writeRecords = flag.Bool("records.write", false, "write the records to testdata, for a new field or a new version of the format")

// fullNode returns a node with a value in every stored field.
func fullNode() *conductor.Node {
	at := time.Date(2026, 11, 22, 4, 5, 6, 7000, time.UTC)
	yes, priority := true, 7
	values := func(of string) map[string]any { return map[string]any{"of": of, "list": []any{"a", nil, true}} }
	return &conductor.Node{
		UUID: "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", Name: "rack1-7", CreatedAt: at, UpdatedAt: &at,
		Driver: "fake-hardware", ChassisUUID: "chassis", InstanceUUID: "instance", AllocationUUID: "allocation", ConductorGroup: "group",
		ProvisionState: states.CleanWait, TargetProvisionState: states.Manageable, LastError: "no answer",
		ProvisionUpdatedAt: &at, InspectionStartedAt: &at, InspectionFinishedAt: &at,
		Transitions: []conductor.TransitionRecord{
			{Time: at, Event: states.EventFail, From: states.Verifying, To: states.Enroll, LastError: "no answer, twice"},
			{Time: at, Event: states.EventWait, From: states.Cleaning, To: states.CleanWait, Target: states.Manageable},
		},
		Power:              states.PowerOn,
		TargetPower:        states.PowerSoftOff,
		PowerChangedAt:     &at,
		Deployment:         conductor.DeploymentInfo{WholeDisk: &yes, BootMode: "uefi", Root: "0x6f7cc4a8"},
		Maintenance:        true,
		MaintenanceReason:  "a reason",
		Fault:              "clean failure",
		Reservation:        "alpha",
		Claim:              "a member/power",
		Origin:             "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Conductor:          "beta",
		DriverInfo:         values("driver_info"),
		DriverInternalInfo: values("driver_internal_info"),
		Agent: conductor.AgentInfo{
			URL: "https://10.0.0.7:9999", Token: "token", TokenPregenerated: true, VerifyCA: "PEM", Version: "9.1", LastHeartbeat: at,
			Steps: map[agent.Work]conductor.AgentSteps{agent.Clean: {Refreshed: at, Steps: []agent.Step{{
				StepName:  agent.StepName{Interface: "deploy", Step: "erase_devices"},
				Priority:  10,
				Abortable: true,
				ArgsInfo:  map[string]agent.Info{"force": {Description: "even if", Required: true}},
			}}}},
			Managers: map[string]any{"generic_hardware_manager": "1.1"},
		},
		Properties:   values("properties"),
		InstanceInfo: values("instance_info"), Extra: values("extra"), NetworkData: values("network_data"),
		RAIDConfig: values("raid_config"), TargetRAIDConfig: values("target_raid_config"), Traits: []string{"CUSTOM_A"},
		BIOSSettings: []conductor.BIOSSetting{{
			Name: "speed", Value: "full", CreatedAt: at, UpdatedAt: &at, Registry: map[string]any{"attribute_type": "Enumeration"},
		}},
		Firmware: []conductor.FirmwareComponent{{
			Component: "bios", InitialVersion: "1.8.2", CurrentVersion: "1.9", LastVersionFlashed: "1.9", CreatedAt: at, UpdatedAt: &at,
			Vendor: "vendor", Model: "model", SerialNumber: "number",
		}},
		CleanSteps: &conductor.Steps{
			Requested:      []conductor.StepRequest{{Interface: "raid", Step: "create_configuration", Args: values("request"), Priority: &priority}},
			DisableRamdisk: &yes, Prepared: true,
			Planned: []conductor.Step{{
				Interface: "raid", Step: "create_configuration", Args: values("step"), Priority: 10, NoRamdisk: true, Abortable: true, Requested: true,
				ArgsInfo:   map[string]conductor.StepArgument{"size": {Description: "in GiB", Required: true}},
				OnChildren: true, Children: []string{"child"},
			}},
			Begun: 1, Current: &conductor.Step{Interface: "raid", Step: "create_configuration"}, AbortAfter: true,
		},
		DeploySteps:     &conductor.Steps{},
		ServiceSteps:    &conductor.Steps{Planned: []conductor.Step{}},
		OtherSteps:      &conductor.Steps{Begun: 2},
		CleanUp:         &conductor.CleanUp{PowerOff: true, Ramdisk: true, Instance: true, AbortedDeployment: true},
		Interfaces:      map[string]string{"power": "fake"},
		Owner:           "owner",
		Lessee:          "lessee",
		ResourceClass:   "baremetal",
		Description:     "text",
		Shard:           "shard",
		ParentNode:      "parent",
		BootMode:        "uefi",
		SecureBoot:      &yes,
		Health:          "OK",
		AutomatedClean:  &yes,
		ConsoleEnabled:  true,
		Protected:       true,
		ProtectedReason: "kept",
		Retired:         true,
		RetiredReason:   "old",
		DisablePowerOff: true,
		InstanceName:    "name",
		Empty:           []string{"lessee"},
	}
}

// fullObjects returns an object of each kind with a value in every stored field.
func fullObjects() []conductor.Object {
	objects := []conductor.Object{
		&conductor.Port{}, &conductor.PortGroup{}, &conductor.VolumeConnector{}, &conductor.VolumeTarget{}, &conductor.Allocation{},
		&conductor.HistoryEntry{}, &conductor.Inventory{}, &conductor.DeployTemplate{}, &conductor.Runbook{}, &conductor.Chassis{},
	}
	for _, o := range objects {
		fill(reflect.ValueOf(o).Elem(), "value")
		o.Meta().UUID, o.Meta().Revision = "2be26c0b-03f2-4d2e-ae87-c02d7f33c123", 0
	}
	return objects
}

// fill sets a value, and those in it, to values that are not zero. name is the name of the field.
func fill(v reflect.Value, name string) {
	switch at := time.Date(2026, 11, 22, 4, 5, 6, 7000, time.UTC); v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(at))
		return
	case map[string]any:
		v.Set(reflect.ValueOf(map[string]any{"of": name, "list": []any{"a", nil, true}}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1)
	default:
		v.SetInt(7)
	}
}

// TestStoredRecordsAreRead reads records as a release has stored them. A release that cannot read these
// files cannot read the stores of its users.
func TestStoredRecordsAreRead(t *testing.T) {
	store := &conductor.Memory{}
	c, err := conductor.New(conductor.Config{
		Store:      store,
		Membership: withBeta{},
		Hardware:   map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	if *writeRecords {
		writeNewest(t)
	}
	node := fullNode()
	fields := reflect.ValueOf(*node)
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		require.True(t, name == "Revision" || !fields.Field(i).IsZero(), "fullNode has no %s", name)
	}
	node.Revision = plant(t, store, conductor.KindNode, node.UUID, "testdata/node-v2.json")
	got, err := c.Node(t.Context(), node.UUID)
	require.NoError(t, err)
	require.Equal(t, node, got)
	require.Equal(t, node, got.Clone())
	_, err = store.Delete(t.Context(), conductor.KindNode, node.UUID, node.Revision)
	require.NoError(t, err)
	for _, want := range fullObjects() {
		kind, id := want.Kind(), want.Meta().UUID
		want.Meta().Revision = plant(t, store, kind, id, "testdata/"+string(kind)+"-v2.json")
		got, err := c.Object(t.Context(), kind, id)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = store.Delete(t.Context(), kind, id, want.Meta().Revision)
		require.NoError(t, err)
	}
}

func TestTheFieldsOfACloneMayBeModified(t *testing.T) {
	n := fullNode()
	agentOf := n.Clone().Agent
	clear(agentOf.Steps)
	clear(agentOf.Managers)
	require.Equal(t, fullNode(), n)
	fields, cloned := reflect.ValueOf(*n), reflect.ValueOf(*n.Clone())
	for i := range fields.NumField() {
		of, got, name := fields.Field(i), cloned.Field(i), fields.Type().Field(i).Name
		switch of.Interface().(type) {
		case *time.Time, *bool:
			continue // replaced and never modified
		}
		switch of.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			require.NotEqual(t, of.Pointer(), got.Pointer(), name)
		}
	}
}

// plant stores the content of a file as a record and returns its revision.
func plant(t *testing.T, store conductor.Store, kind conductor.Kind, id, file string) int64 {
	t.Helper()
	value, err := os.ReadFile(file)
	require.NoError(t, err)
	revision, err := store.Create(t.Context(), conductor.Record{Kind: kind, ID: id, Value: value})
	require.NoError(t, err)
	return revision
}

// writeNewest writes the files as this release stores the records.
func writeNewest(t *testing.T) {
	t.Helper()
	write := func(r conductor.Record, err error) {
		require.NoError(t, err)
		name := string(r.Kind)
		if r.Kind == conductor.KindNode {
			name = "node"
		}
		require.NoError(t, os.WriteFile("testdata/"+name+"-v2.json", append(r.Value, '\n'), 0o600))
	}
	write(conductor.EncodeNode(fullNode()))
	for _, o := range fullObjects() {
		write(conductor.EncodeObject(o))
	}
}

func TestARecordOfAnotherVersionIsAnErrorThatSaysSo(t *testing.T) {
	store := &conductor.Memory{}
	c, err := conductor.New(conductor.Config{
		Store:      store,
		Membership: withBeta{},
		Hardware:   map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	id := fullNode().UUID
	_, err = store.Create(t.Context(), conductor.Record{Kind: conductor.KindNode, ID: id, Value: []byte(`{"version":3,"uuid":"` + id + `"}`)})
	require.NoError(t, err)
	_, err = c.Node(t.Context(), id)
	require.ErrorContains(t, err, "version 3 of the record is unknown, this release reads version 2")
}
