// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// NewRedfish returns Ironic's hardware type "redfish": [New] with the interfaces of [Redfish]. The error is a
// [*machine.ConfigError].
func NewRedfish(c Config) (*Type, error) {
	i, err := Redfish(c)
	if err != nil {
		return nil, err
	}
	return New(c, i)
}

// Redfish returns the interfaces of the hardware type "redfish", for a hardware type of one's own that has some of
// them. They share the sessions of BMCs, so that one Type has them: its Close logs out. Give [New] the same Config. The
// error is a [*machine.ConfigError].
//
// Source: ironic/drivers/redfish.py and ironic/drivers/modules/redfish/utils.py.
func Redfish(c Config) (Interfaces, error) {
	b := &bmcs{
		name:       "redfish",
		properties: redfishProperties,
		devices:    []string{"pxe", "disk", "cdrom", "bios", "uefihttp"},
		parse:      parseRedfish,
	}
	if err := b.open(c); err != nil {
		return Interfaces{}, err
	}
	management := redfishManagement{bmcManagement{b}}
	return Interfaces{
		Power:      []Power{bmcPower{b}},
		Management: []Management{management, NoManagement()},
		Boot:       []Boot{IPXE(), PXE(), VirtualMedia("redfish-virtual-media", management)},
		Inspect:    []Interface{redfishInspect{b}, AgentInspect(), None("inspect")},
		BIOS:       []Interface{biosSettings{b}, None("bios")},
		RAID:       []Interface{None("raid"), AgentRAID(), storedRAID{"redfish"}},
		Vendor:     []Interface{redfishVendor{b}, None("vendor")},
		Firmware:   []Interface{redfishFirmware{b}, None("firmware")},
	}, nil
}

var redfishProperties = map[string]string{
	"redfish_address": "URL of the BMC, such as https://10.1.2.3:8443, or its host with or without a port. HTTPS only. " +
		"A path before /redfish/v1 leads through a proxy. Required.",
	"redfish_system_id": "Path of the machine's ComputerSystem, such as /redfish/v1/Systems/1. Required if the BMC has several.",
	"redfish_username":  "User of the BMC. Required.",
	"redfish_password":  "Password of the user. Required.",
	"redfish_verify_ca": "Whether the BMC's certificate is verified: true (the default), false, " +
		"or the path of a file or folder with the certificates of the authorities to be trusted.",
	"redfish_auth_type": "How the user logs in: session, basic, or auto (the default), " +
		"which is session, or basic while the BMC has no sessions or no free one.",
	"redfish_tls_minimum_version": "Lowest version of TLS. Only 1.2, the default.",
	"redfish_tls_ciphers":         "Not supported.",
	// Of Ironic's firmware interface, which shows all properties of redfish.
	"firmware_update_unresponsive_bmc_wait": "Not supported.",
}

func parseRedfish(i info) (bmc.Config, error) {
	c := bmc.Config{Protocol: "redfish"}
	if err := i.require("Redfish properties", "redfish_address", "redfish_username", "redfish_password"); err != nil {
		return c, err
	}
	var address, system, password, auth string
	err := i.texts(map[string]*string{
		"redfish_address": &address, "redfish_system_id": &system, "redfish_username": &c.User,
		"redfish_password": &password, "redfish_auth_type": &auth,
	})
	c.Password = secret.New(password)
	if err != nil {
		return c, err
	}
	if err := i.redfishAddress(address, &c); err != nil {
		return c, err
	}
	if c.SystemID, err = i.systemID(system); err != nil {
		return c, err
	}
	if auth != "" {
		c.Auth = auth
		if !slices.Contains([]string{"auto", "session", "basic"}, c.Auth) {
			return c, i.invalid("redfish_auth_type", "%q is none of basic, session and auto", auth)
		}
	}
	if err := i.checkUnused(usedByRedfish); err != nil {
		return c, err
	}
	c.RootCAs, c.InsecureSkipTLSVerify, err = i.verifyCA("redfish_verify_ca")
	return c, err
}

// redfishAddress parses an address. Its errors do not quote it, since it may contain a password.
func (i info) redfishAddress(address string, c *bmc.Config) error {
	const key = "redfish_address"
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		address = "[" + address + "]"
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "":
		return i.invalid(key, "it is neither a URL such as https://10.1.2.3:8443 nor a host")
	case u.Scheme != "https":
		return i.invalid(key, "the scheme %q is not supported, only https", u.Scheme)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return i.invalid(key, "a URL with a user, a query or a fragment is not supported")
	}
	c.Host = u.Hostname()
	if port := u.Port(); port != "" {
		if c.RedfishPort, err = strconv.Atoi(port); err != nil || c.RedfishPort < 1 || c.RedfishPort > 65535 {
			return i.invalid(key, "%q is not a port from 1 to 65535", port)
		}
	}
	base, ok := strings.CutSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/redfish/v1")
	if !ok && base != "" {
		return i.invalid(key, "the path %q does not end in /redfish/v1", u.Path)
	}
	c.BasePath = base
	return nil
}

// systemID returns the last segment of a system's path, or the whole value if it is only an ID.
func (i info) systemID(system string) (string, error) {
	system = strings.TrimRight(system, "/")
	folder, id := path.Split(system)
	if folder != "" && path.Base(folder) != "Systems" {
		return "", i.invalid("redfish_system_id", "%q is not the path of a system, such as /redfish/v1/Systems/1", system)
	}
	return id, nil
}
