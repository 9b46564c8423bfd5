// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// smartPlug is a power interface.
type smartPlug struct{}

func (smartPlug) Name() string { return "smartplug" }

func (smartPlug) Properties() map[string]string {
	return map[string]string{"smartplug_address": "Address of the plug. Required."}
}

func (smartPlug) Validate(n hardware.Node) error {
	if n.DriverInfo["smartplug_address"] == nil {
		return &conductor.Error{Reason: conductor.Invalid, Text: "smartplug_address is missing"}
	}
	return nil
}

func (smartPlug) PowerState(context.Context, *conductor.Node) (states.Power, error) {
	return states.PowerOn, nil // ask the plug
}

func (smartPlug) SetPower(ctx context.Context, _ *conductor.Node, _ states.Power) error {
	return conductor.Permit(ctx) // and switch it
}

// A type of one's own may have interfaces of the type redfish. Machines of this one have a plug or a BMC.
func ExampleRedfish() {
	interfaces, err := hardware.Redfish(hardware.Config{})
	if err != nil {
		panic(err)
	}
	interfaces.Power = append([]hardware.Power{smartPlug{}}, interfaces.Power...)
	interfaces.BIOS = nil // New fills it in
	mixed, err := hardware.New(hardware.Config{}, interfaces)
	if err != nil {
		panic(err)
	}
	defer mixed.Close(context.Background())
	for _, kind := range []string{"power", "management", "bios", "inspect", "vendor"} {
		fmt.Println(kind+":", strings.Join(mixed.Describe().Interfaces[kind], ", "))
	}
	n := &conductor.Node{UUID: "n1", DriverInfo: map[string]any{"redfish_address": "https://10.1.2.3"}}
	fmt.Println(mixed.Validate(n)["power"])
	n.Interfaces = map[string]string{"power": "redfish"}
	fmt.Println(mixed.Validate(n)["power"])
	// Output:
	// power: smartplug, redfish
	// management: redfish, noop
	// bios: no-bios
	// inspect: redfish, agent, no-inspect
	// vendor: redfish, no-vendor
	// smartplug_address is missing
	// Missing the following Redfish properties in node n1 driver_info: ['redfish_username', 'redfish_password']
}

// A power interface and a management interface are a hardware type.
func ExampleNew() {
	plugs, err := hardware.New(hardware.Config{}, hardware.Interfaces{
		Power:      []hardware.Power{smartPlug{}},
		Management: []hardware.Management{hardware.NoManagement()},
	})
	if err != nil {
		panic(err)
	}
	defer plugs.Close(context.Background())
	for _, kind := range []string{"power", "boot", "deploy", "inspect", "rescue"} {
		fmt.Println(kind+":", strings.Join(plugs.Describe().Interfaces[kind], ", "))
	}
	fmt.Println(plugs.Validate(&conductor.Node{})["power"])
	// Output:
	// power: smartplug
	// boot: ipxe, pxe
	// deploy: direct, ramdisk, custom-agent
	// inspect: agent, no-inspect
	// rescue: no-rescue, agent
	// smartplug_address is missing
}
