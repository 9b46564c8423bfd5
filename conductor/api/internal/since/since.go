// SPDX-License-Identifier: Apache-2.0

// Package since names the version of Ironic's API that introduced each feature.
//
// Source: ironic/api/controllers/v1/versions.py.
package since

import "github.com/ironstate/ironstate/states"

// The first version, as the number after "1.", with each feature.
const (
	First                    states.APIVersion = 1   // the oldest version that there is
	InternalInfo             states.APIVersion = 3   // driver_internal_info of nodes
	Names                    states.APIVersion = 5   // names of nodes
	Inspection               states.APIVersion = 6   // the times of an inspection
	CleanStep                states.APIVersion = 7   // clean_step of nodes
	Fields                   states.APIVersion = 8   // the fields of a response can be chosen
	ProvisionStateFilter     states.APIVersion = 9   // lists of nodes by provision_state
	AnyName                  states.APIVersion = 10  // names of nodes need not be host names
	RAID                     states.APIVersion = 12  // RAID configurations
	StateLinks               states.APIVersion = 14  // links to the states of nodes and the properties of drivers
	DriverFilter             states.APIVersion = 16  // lists of nodes by driver
	PortInternalInfo         states.APIVersion = 18  // internal_info of ports
	PortConnectivity         states.APIVersion = 19  // local_link_connection and pxe_enabled of ports
	NetworkInterface         states.APIVersion = 20  // network_interface of nodes
	ResourceClass            states.APIVersion = 21  // resource_class of nodes
	Lookup                   states.APIVersion = 22  // lookup and heartbeat
	PortGroups               states.APIVersion = 23  // port groups
	PortGroupsBelow          states.APIVersion = 24  // the port groups of nodes, the ports of port groups, and portgroup_uuid of ports
	ChassisRemoval           states.APIVersion = 25  // a patch can remove the chassis of a node
	PortGroupMode            states.APIVersion = 26  // mode and properties of port groups
	SoftPower                states.APIVersion = 27  // soft power requests, and timeouts
	VIFs                     states.APIVersion = 28  // virtual interfaces of nodes
	InjectNMI                states.APIVersion = 29  // non-maskable interrupts
	DriverDetail             states.APIVersion = 30  // detail, type and interfaces of drivers
	Interfaces               states.APIVersion = 31  // the other hardware interfaces of nodes
	Volumes                  states.APIVersion = 32  // volume connectors and targets
	StorageInterface         states.APIVersion = 33  // storage_interface of nodes
	PortPhysicalNetwork      states.APIVersion = 34  // physical_network of ports
	RebuildConfigDrive       states.APIVersion = 35  // config drives of a rebuild
	AgentVersion             states.APIVersion = 36  // agent_version in a heartbeat
	Traits                   states.APIVersion = 37  // traits of nodes
	RescueInterface          states.APIVersion = 38  // rescue_interface of nodes
	BIOS                     states.APIVersion = 40  // BIOS settings, and bios_interface of nodes
	Fault                    states.APIVersion = 42  // fault of nodes
	Detail                   states.APIVersion = 43  // detail=true in the query of a list
	DeployStep               states.APIVersion = 44  // deploy_step of nodes
	ResetInterfaces          states.APIVersion = 45  // reset_interfaces in the query of a patch
	ConductorGroup           states.APIVersion = 46  // conductor_group of nodes
	AutomatedClean           states.APIVersion = 47  // automated_clean of nodes
	Protected                states.APIVersion = 48  // protected and protected_reason of nodes
	Conductors               states.APIVersion = 49  // conductors, and conductor of nodes
	Owner                    states.APIVersion = 50  // owner of nodes
	Description              states.APIVersion = 51  // description of nodes
	Allocations              states.APIVersion = 52  // allocations, and allocation_uuid of nodes
	SmartNIC                 states.APIVersion = 53  // is_smartnic of ports
	Events                   states.APIVersion = 54  // events of the network service
	DeployTemplates          states.APIVersion = 55  // deploy templates
	ConfigDriveObject        states.APIVersion = 56  // config drives as JSON objects
	AllocationPatch          states.APIVersion = 57  // allocations can be patched
	AllocationBackfill       states.APIVersion = 58  // allocations of nodes that have an instance
	ConfigDriveVendor        states.APIVersion = 59  // vendor_data in config drives
	AllocationOwner          states.APIVersion = 60  // owner of allocations
	Retired                  states.APIVersion = 61  // retired and retired_reason of nodes
	AgentToken               states.APIVersion = 62  // agent_token in the response to a lookup
	LinkNetworkType          states.APIVersion = 64  // network_type in local_link_connection
	Lessee                   states.APIVersion = 65  // lessee of nodes
	NetworkData              states.APIVersion = 66  // network_data of nodes
	VIFPort                  states.APIVersion = 67  // port_uuid and portgroup_uuid of a virtual interface
	AgentCA                  states.APIVersion = 68  // agent_verify_ca in a heartbeat
	DeploySteps              states.APIVersion = 69  // deploy_steps of a deployment
	CleanRamdisk             states.APIVersion = 70  // disable_ramdisk of a cleaning
	AgentStatus              states.APIVersion = 72  // agent_status in a heartbeat
	BIOSRegistry             states.APIVersion = 74  // the registry of BIOS settings
	BootMode                 states.APIVersion = 75  // boot_mode and secure_boot of nodes
	SetBootMode              states.APIVersion = 76  // boot_mode and secure_boot can be set
	DriverFields             states.APIVersion = 77  // the fields of drivers can be chosen
	History                  states.APIVersion = 78  // the history of nodes
	Inventory                states.APIVersion = 81  // the inventory of nodes
	Shards                   states.APIVersion = 82  // shards
	Children                 states.APIVersion = 83  // parents and children of nodes
	ContinueInspection       states.APIVersion = 84  // continue_inspection has a version of its own
	Firmware                 states.APIVersion = 86  // firmware components, and firmware_interface of nodes
	ServiceStep              states.APIVersion = 87  // service_step of nodes
	PortName                 states.APIVersion = 88  // name of ports
	VirtualMedia             states.APIVersion = 89  // virtual media can be attached
	LinkVTEP                 states.APIVersion = 90  // VTEP switches in local_link_connection
	DotJSON                  states.APIVersion = 91  // a trailing ".json" is part of a name
	Runbooks                 states.APIVersion = 92  // runbooks
	VirtualMediaShown        states.APIVersion = 93  // attached virtual media are shown
	PortNode                 states.APIVersion = 94  // a new port can name its node
	DisablePowerOff          states.APIVersion = 95  // disable_power_off of nodes
	InspectionRules          states.APIVersion = 96  // inspection rules
	PortDescription          states.APIVersion = 97  // description of ports
	ConductorGroupFilter     states.APIVersion = 99  // lists of ports and port groups by conductor groups
	PortVendor               states.APIVersion = 100 // vendor of ports
	PortCategory             states.APIVersion = 101 // category of ports
	PortGroupPhysicalNetwork states.APIVersion = 102 // physical_network of port groups
	PortGroupCategory        states.APIVersion = 103 // category of port groups
	InstanceName             states.APIVersion = 104 // instance_name of nodes
	NoLinkVTEP               states.APIVersion = 105 // VTEP switches are no longer shown in local_link_connection
	PortGroupShard           states.APIVersion = 106 // lists of port groups by shard
	RequestID                states.APIVersion = 107 // the header X-OpenStack-Request-Id
	ServiceRamdisk           states.APIVersion = 108 // disable_ramdisk of a service
	Health                   states.APIVersion = 109 // health of nodes
	DynamicPortGroups        states.APIVersion = 111 // available_for_dynamic_portgroup of ports and dynamic_portgroup of port groups
	RunbookTraits            states.APIVersion = 112 // traits and description of runbooks
	HistoryProject           states.APIVersion = 113 // project in the history of nodes
	FirmwareIdentity         states.APIVersion = 114 // vendor, model and serial_number of firmware components
	HistoryState             states.APIVersion = 115 // state, target_provision_state and duration_seconds in the history of nodes
)
