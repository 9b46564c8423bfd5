// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const uuid = "6a1b0f3c-1f5e-4c8e-9a0a-0d6f1b1f7c11"

// good maps each hardware type to a valid driver_info.
var good = map[string]map[string]any{
	"redfish": {"redfish_address": "https://192.0.2.1", "redfish_username": user, "redfish_password": password},
	"ipmi":    {"ipmi_address": "192.0.2.1", "ipmi_username": user, "ipmi_password": password},
}

func types(t *testing.T) map[string]*hardware.Type {
	t.Helper()
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	require.NoError(t, err)
	return map[string]*hardware.Type{"redfish": newRedfish(t, hardware.Config{}), "ipmi": ipmi}
}

// with returns a node with a valid driver_info and the given changes.
func with(driver string, change map[string]any) *conductor.Node {
	info := maps.Clone(good[driver])
	maps.Copy(info, change)
	return &conductor.Node{UUID: uuid, Driver: driver, DriverInfo: info}
}

func TestAnInvalidDriverInfoIsRefusedWithTheReason(t *testing.T) {
	tests := []struct {
		driver string
		change map[string]any
		want   string // part of the error; empty for no error
	}{
		{"redfish", nil, ""},
		{"redfish", map[string]any{"redfish_address": nil},
			"Missing the following Redfish properties in node " + uuid + " driver_info: ['redfish_address']"},
		{"redfish", map[string]any{"redfish_address": "", "redfish_username": "", "redfish_password": nil},
			"['redfish_address', 'redfish_username', 'redfish_password']"},
		{"redfish", map[string]any{"redfish_address": "bmc-1.example:8443"}, ""},
		{"redfish", map[string]any{"redfish_address": "2001:db8::1"}, ""},
		{"redfish", map[string]any{"redfish_address": "192.0.2.1"}, ""},
		{"redfish", map[string]any{"redfish_address": "https://[2001:db8::1]:8443/"}, ""},
		{"redfish", map[string]any{"redfish_address": "https://proxy/bmc/17/redfish/v1/"}, ""},
		{"redfish", map[string]any{"redfish_address": "http://192.0.2.1"},
			`Invalid redfish_address in node ` + uuid + ` driver_info: the scheme "http" is not supported, only https`},
		{"redfish", map[string]any{"redfish_address": "https://admin:correct+horse%2F1@192.0.2.1"},
			"a URL with a user, a query or a fragment is not supported"},
		{"redfish", map[string]any{"redfish_address": "https://correct+horse/1:x\x00y"}, "it is neither a URL"},
		{"redfish", map[string]any{"redfish_address": "https://:8443"}, "the host is empty"},
		{"redfish", map[string]any{"redfish_address": "https://192.0.2.1:1"}, ""},
		{"redfish", map[string]any{"redfish_address": "https://192.0.2.1:65535"}, ""},
		{"redfish", map[string]any{"redfish_address": "https://192.0.2.1:65536"}, `"65536" is not a port from 1 to 65535`},
		{"redfish", map[string]any{"redfish_address": "https://192.0.2.1:0"}, `"0" is not a port from 1 to 65535`},
		{"redfish", map[string]any{"redfish_address": "https://192.0.2.1/api"}, `the path "/api" does not end in /redfish/v1`},
		{"redfish", map[string]any{"redfish_address": "https://192.0.2.1/a/../redfish/v1"}, "base path"},
		{"redfish", map[string]any{"redfish_address": map[string]any{"password": password}},
			"Invalid redfish_address in node " + uuid + " driver_info: it must be text"},
		{"redfish", map[string]any{"redfish_password": []any{password}},
			"Invalid redfish_password in node " + uuid + " driver_info: it must be text"},
		{"redfish", map[string]any{"redfish_password": json.Number("1234")}, ""},
		{"redfish", map[string]any{"redfish_system_id": "/redfish/v1/Systems/1"}, ""},
		{"redfish", map[string]any{"redfish_system_id": "1"}, ""},
		{"redfish", map[string]any{"redfish_system_id": "/redfish/v1/Chassis/1"},
			`"/redfish/v1/Chassis/1" is not the path of a system, such as /redfish/v1/Systems/1`},
		{"redfish", map[string]any{"redfish_auth_type": "basic"}, ""},
		{"redfish", map[string]any{"redfish_auth_type": "digest"}, `"digest" is none of basic, session and auto`},
		{"redfish", map[string]any{"redfish_verify_ca": false}, ""},
		{"redfish", map[string]any{"redfish_verify_ca": "False"}, ""},
		{"redfish", map[string]any{"redfish_verify_ca": " yes "}, ""},
		{"redfish", map[string]any{"redfish_verify_ca": "/no/such/file"},
			`"/no/such/file" is neither true, nor false, nor the path of a file or folder with certificates`},
		{"redfish", map[string]any{"redfish_verify_ca": nil}, "it must be true, false, or the path"},
		{"redfish", map[string]any{"redfish_verify_ca": json.Number("1")}, "it must be true, false, or the path"},
		{"redfish", map[string]any{"redfish_tls_minimum_version": "1.2"}, ""},
		{"redfish", map[string]any{"redfish_tls_minimum_version": "1.3"}, "only 1.2 is supported"},
		{"redfish", map[string]any{"redfish_tls_ciphers": "HIGH"},
			"Invalid redfish_tls_ciphers in node " + uuid + " driver_info: it is not supported"},
		{"redfish", map[string]any{"deploy_kernel": "http://images.example/kernel", "ipmi_address": 7}, ""},

		{"ipmi", nil, ""},
		{"ipmi", map[string]any{"ipmi_username": nil, "ipmi_password": ""},
			"Missing the following IPMI credentials in node " + uuid + " driver_info: ['ipmi_username', 'ipmi_password']"},
		{"ipmi", map[string]any{"ipmi_address": "192.0.2.1:623"}, "a port goes into"},
		{"ipmi", map[string]any{"ipmi_address": "bmc-1.example"}, ""},
		{"ipmi", map[string]any{"ipmi_address": "no host"}, "is not a name or an address"},
		{"ipmi", map[string]any{"ipmi_address": "-bmc"}, "is not a name or an address"},
		{"ipmi", map[string]any{"ipmi_username": strings.Repeat("u", 17)}, "The driver_info of node " + uuid + " cannot be used"},
		{"ipmi", map[string]any{"ipmi_password": strings.Repeat("p", 21)}, "the password is longer than IPMI's 20 bytes"},
		{"ipmi", map[string]any{"ipmi_port": "6230"}, ""},
		{"ipmi", map[string]any{"ipmi_port": json.Number("6230")}, ""},
		{"ipmi", map[string]any{"ipmi_port": 65536}, `Invalid ipmi_port in node ` + uuid + ` driver_info: "65536" is not a port from 1 to 65535`},
		{"ipmi", map[string]any{"ipmi_port": true}, "it must be text"},
		{"ipmi", map[string]any{"ipmi_cipher_suite": json.Number("17")}, ""},
		{"ipmi", map[string]any{"ipmi_cipher_suite": "strong"}, `the cipher suite "strong" is not a number`},
		{"ipmi", map[string]any{"ipmi_protocol_version": json.Number("2.0")}, ""},
		{"ipmi", map[string]any{"ipmi_protocol_version": "1.5"}, "only IPMI 2.0 is supported"},
		{"ipmi", map[string]any{"ipmi_priv_level": "ADMINISTRATOR"}, ""},
		{"ipmi", map[string]any{"ipmi_priv_level": "OPERATOR"}, "only ADMINISTRATOR is supported"},
		{"ipmi", map[string]any{"ipmi_bridging": "no", "ipmi_target_channel": "0"}, ""},
		{"ipmi", map[string]any{"ipmi_bridging": "single"}, "bridging is not supported"},
		{"ipmi", map[string]any{"ipmi_hex_kg_key": "636f72726563742b686f7273652f31"}, "a key of the BMC's is not supported"},
		{"ipmi", map[string]any{"ipmi_force_boot_device": "false"}, ""},
		{"ipmi", map[string]any{"ipmi_force_boot_device": true}, "only false is supported"},
		{"ipmi", map[string]any{"ipmi_disable_boot_timeout": "0"}, ""},
		{"ipmi", map[string]any{"ipmi_disable_boot_timeout": "perhaps"}, `"perhaps" is neither true nor false`},
	}
	all := types(t)
	for _, test := range tests {
		n := with(test.driver, test.change)
		err := all[test.driver].Validate(n)["power"]
		if test.want == "" {
			require.NoError(t, err, "%v", test.change)
			continue
		}
		require.ErrorIs(t, err, conductor.Invalid, "%v", test.change)
		require.ErrorContains(t, err, test.want)
		require.NotContains(t, err.Error(), "horse")
		require.NotContains(t, err.Error(), "636f72")

		_, err = all[test.driver].Verify(t.Context(), n)
		require.ErrorIs(t, err, conductor.Invalid)
		_, err = all[test.driver].PowerState(t.Context(), n)
		require.ErrorIs(t, err, conductor.Invalid)
	}
}

func TestEveryKeyThatIsReadIsDescribed(t *testing.T) {
	for driver, b := range types(t) {
		description := b.Describe()
		for key := range good[driver] {
			require.Contains(t, description.Properties, key)
		}
		for key, text := range description.Properties {
			require.NotEmpty(t, text, key)
		}
		for _, kind := range []string{
			"bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue", "storage", "vendor",
		} {
			require.NotEmpty(t, description.Interfaces[kind], kind)
		}
	}
}

func TestTheBMCIsReachedAsConfiguredInDriverInfo(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Systems = []bmctest.System{{ID: "left"}, {ID: "right", Power: "On"}}
	})
	b := newRedfish(t, hardware.Config{})
	info := redfishInfo(t, server)
	for id, want := range map[string]string{
		"/redfish/v1/Systems/left": "power off", "/redfish/v1/Systems/right/": "power on", "right": "power on",
	} {
		info["redfish_system_id"] = id
		for _, address := range []string{server.Addr, "https://" + server.Addr, server.URL} {
			info["redfish_address"] = address
			power, err := b.PowerState(t.Context(), &conductor.Node{UUID: id, DriverInfo: info})
			require.NoError(t, err)
			require.Equal(t, want, power.String())
		}
	}
	before := server.Logins().Attempts
	info["redfish_auth_type"] = "basic"
	_, err := b.PowerState(t.Context(), &conductor.Node{UUID: "basic", DriverInfo: info})
	require.NoError(t, err)
	require.Greater(t, server.Logins().Attempts, before+1, "each request has the password")

	info["redfish_address"] = "https://" + server.Addr + "/bmc/17/redfish/v1"
	_, err = b.PowerState(t.Context(), &conductor.Node{UUID: "proxy", DriverInfo: info})
	require.Error(t, err)
	require.Equal(t, "/bmc/17/redfish/v1/", server.Requests()[len(server.Requests())-1].Path)
}

func FuzzDriverInfo(f *testing.F) {
	for _, info := range good {
		text, err := json.Marshal(info)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add(`{"redfish_address": "https://a:correct+horse/1@[::1%25x]:99999/%zz/redfish/v1", "redfish_username": 1, ` +
		`"redfish_password": "correct+horse/1"}`)
	f.Add(`{"ipmi_address": [], "ipmi_username": {}, "ipmi_password": "correct+horse/1", "ipmi_port": 1e999}`)
	redfish, err := hardware.NewRedfish(hardware.Config{})
	require.NoError(f, err)
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var info map[string]any
		if decoder.Decode(&info) != nil {
			return
		}
		delete(info, "redfish_verify_ca") // a path may be any file of this machine
		for _, key := range []string{"redfish_password", "ipmi_password"} {
			if info[key] != nil {
				info[key] = password
			}
		}
		for _, b := range []*hardware.Type{redfish, ipmi} {
			n := &conductor.Node{UUID: uuid, DriverInfo: info, Properties: info, InstanceInfo: info}
			for _, err := range b.Validate(n) {
				if err != nil && !strings.Contains(strings.ReplaceAll(text, `"`+password+`"`, ""), "horse") {
					require.NotContains(t, err.Error(), "horse")
				}
			}
		}
	})
}
