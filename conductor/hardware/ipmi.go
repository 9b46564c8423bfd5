// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// NewIPMI returns Ironic's hardware type "ipmi": [New] with the interfaces of [IPMI]. The error is a
// [*machine.ConfigError].
func NewIPMI(c Config) (*Type, error) {
	i, err := IPMI(c)
	if err != nil {
		return nil, err
	}
	return New(c, i)
}

// IPMI returns the interfaces of the hardware type "ipmi", as [Redfish] does for "redfish". They need the program
// ipmitool.
//
// Source: ironic/drivers/ipmi.py and ironic/drivers/modules/ipmitool.py.
func IPMI(c Config) (Interfaces, error) {
	b := &bmcs{name: "ipmitool", properties: ipmiProperties, devices: []string{"pxe", "disk", "cdrom", "bios", "safe"}, parse: parseIPMI}
	if err := b.open(c); err != nil {
		return Interfaces{}, err
	}
	return Interfaces{
		Power:      []Power{bmcPower{b}},
		Management: []Management{bmcManagement{b}, NoManagement()},
		Inspect:    []Interface{None("inspect")},
	}, nil
}

var ipmiProperties = map[string]string{
	"ipmi_address":           "Host of the BMC: a name or an address. Required.",
	"ipmi_port":              "UDP port of the BMC; 623 by default.",
	"ipmi_username":          "User of the BMC, of 16 bytes at most. Required.",
	"ipmi_password":          "Password of the user, of 20 bytes at most. Required.",
	"ipmi_cipher_suite":      "Number of the cipher suite, 3 or 17. By default 3, or 17 where the BMC lacks 3.",
	"ipmi_protocol_version":  "Version of IPMI. Only 2.0, the default.",
	"ipmi_priv_level":        "Privilege level of the session. Only ADMINISTRATOR, the default.",
	"ipmi_bridging":          "Bridging of requests. Only no, the default.",
	"ipmi_hex_kg_key":        "Not supported: ipmitool takes the key in its arguments, where others see it.",
	"ipmi_force_boot_device": "Whether the boot device is set again at each power on. Only false, the default.",
	"ipmi_terminal_port":     "Not supported: there is no console.",
	"ipmi_disable_boot_timeout": "Whether the BMC is asked to keep a boot device for longer than 60 s; true by default. " +
		"Some BMCs refuse the request and need false.",
}

func parseIPMI(i info) (bmc.Config, error) {
	c := bmc.Config{Protocol: "ipmi"}
	c.Vendor, _ = i.Properties["vendor"].(string)
	if err := i.require("IPMI credentials", "ipmi_address", "ipmi_username", "ipmi_password"); err != nil {
		return c, err
	}
	password := ""
	err := i.texts(map[string]*string{
		"ipmi_address": &c.Host, "ipmi_username": &c.User, "ipmi_password": &password, "ipmi_cipher_suite": &c.CipherSuite,
	})
	c.Password = secret.New(password)
	if err != nil {
		return c, err
	}
	if c.IPMIPort, err = i.port("ipmi_port"); err != nil {
		return c, err
	}
	disable, err := i.boolean("ipmi_disable_boot_timeout", true)
	if err != nil {
		return c, err
	}
	c.KeepBootTimeout = !disable
	return c, i.checkUnused(usedByIPMI)
}
