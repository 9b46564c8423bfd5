// SPDX-License-Identifier: Apache-2.0

// Package schemas has the parts of gofish that package bmc and its tests use, and is the only package of ours that
// imports it. gofish v0.22 moves its packages common and redfish to one that is called schemas, too: a change to it is
// a change of this package, and of the fields whose types then differ.
package schemas

import (
	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"
)

// The resources that are decoded.
type (
	Service           = gofish.Service
	Collection        = common.Collection
	ComputerSystem    = redfish.ComputerSystem
	Manager           = redfish.Manager
	Chassis           = redfish.Chassis
	Bios              = redfish.Bios
	SecureBoot        = redfish.SecureBoot
	VirtualMedia      = redfish.VirtualMedia
	Processor         = redfish.Processor
	Memory            = redfish.Memory
	Storage           = redfish.Storage
	SimpleStorage     = redfish.SimpleStorage
	Drive             = redfish.Drive
	Volume            = redfish.Volume
	EthernetInterface = redfish.EthernetInterface
	NetworkAdapter    = redfish.NetworkAdapter
	Port              = redfish.Port
	PCIeDevice        = redfish.PCIeDevice
	PCIeFunction      = redfish.PCIeFunction
)

// Parts of resources, and their words.
type (
	ProcessorSummary      = redfish.ProcessorSummary
	InstructionSet        = redfish.InstructionSet
	ProcessorArchitecture = redfish.ProcessorArchitecture
	VirtualMediaType      = redfish.VirtualMediaType
)

// Error is the error of a request that a BMC has refused.
type Error = common.Error

// The client, with which tests of package bmctest request what it serves.
type (
	APIClient          = gofish.APIClient
	ClientConfig       = gofish.ClientConfig
	SettingsAttributes = redfish.SettingsAttributes
	VirtualMediaConfig = redfish.VirtualMediaConfig
)

// ConnectContext is gofish's function.
var ConnectContext = gofish.ConnectContext
