// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

func TestValidationIsByInterface(t *testing.T) {
	for driver, b := range types(t) {
		unsupported := []string{"console", "raid", "rescue"}
		if driver == "ipmi" {
			unsupported = append(unsupported, "bios", "firmware", "inspect")
		}
		for _, info := range []map[string]any{good[driver], nil} {
			got := b.Validate(&conductor.Node{UUID: uuid, Driver: driver, DriverInfo: info, Interfaces: map[string]string{"deploy": "ramdisk"}})
			for kind, err := range got {
				switch {
				case slices.Contains(unsupported, kind):
					require.ErrorIs(t, err, conductor.Unsupported)
					require.EqualError(t, err, "Driver "+driver+" does not support "+kind+" (disabled or not implemented).")
				case info == nil && slices.Contains([]string{"power", "management", "inspect", "bios", "firmware"}, kind):
					require.ErrorIs(t, err, conductor.Invalid)
				default:
					require.NoError(t, err, kind)
				}
			}
			require.Len(t, got, 12)
		}
		noop := b.Validate(&conductor.Node{UUID: uuid, Driver: driver, Interfaces: map[string]string{"management": "noop"}})
		require.NoError(t, noop["management"])
		require.Error(t, noop["power"])
	}
}

func TestAnInspectionByAnAgentNeedsItsRamdisk(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	for _, boot := range []string{"redfish-virtual-media", "ipxe"} {
		n := with("redfish", nil)
		n.Interfaces = map[string]string{"boot": boot, "inspect": "agent", "deploy": "ramdisk"}
		if err := b.Validate(n)["inspect"]; boot == "ipxe" {
			require.NoError(t, err, "the network decides what the machine boots")
		} else {
			require.ErrorContains(t, err, "['deploy_kernel', 'deploy_ramdisk']")
		}
		n.Interfaces["inspect"] = "redfish"
		require.NoError(t, b.Validate(n)["inspect"])
		n.Interfaces["inspect"], n.DriverInfo["redfish_address"] = "agent", nil
		problems := b.Validate(n)
		require.ErrorContains(t, problems["inspect"], "redfish_address")
		require.Equal(t, problems["power"], problems["inspect"])
	}
}

func TestWhatAManagementInterfaceLacksIsRefused(t *testing.T) {
	all := types(t)
	for _, c := range []struct{ driver, management string }{{"redfish", "noop"}, {"ipmi", "noop"}, {"ipmi", "ipmitool"}} {
		n, b := with(c.driver, nil), all[c.driver]
		n.Interfaces = map[string]string{"management": c.management}
		errs := map[string]error{
			"set_boot_mode":         b.SetBootMode(t.Context(), n, "uefi"),
			"set_secure_boot_state": b.SetSecureBoot(t.Context(), n, true),
		}
		if c.management == "noop" {
			errs["inject_nmi"] = b.InjectNMI(t.Context(), n)
		}
		for function, err := range errs {
			require.ErrorIs(t, err, conductor.Unsupported)
			require.EqualError(t, err, "Driver "+c.driver+" does not support "+function+" (disabled or not implemented).")
		}
	}
}

func TestAnInstanceThatTheDeployInterfaceCannotRealiseIsRefused(t *testing.T) {
	const url = "http://images.example/1"
	disk, network := "it boots the instance from its disk", "the network decides what the machine boots"
	for _, test := range []struct {
		instance        map[string]any
		ramdisk, custom string // parts of the errors; empty for none
	}{
		{nil, "", ""},
		{map[string]any{"root_gb": 10, "capabilities": map[string]any{"boot_option": "local", "secure_boot": "false"}}, "", ""},
		{map[string]any{"boot_iso": "", "image_source": nil}, "", ""},
		{map[string]any{"boot_iso": url}, network, disk},
		{map[string]any{"boot_iso": url, "image_source": url}, "boot_iso in instance_info", "boot_iso in instance_info"},
		{map[string]any{"image_source": url}, "it writes no image", ""},
		{map[string]any{"kernel": url, "ramdisk": url}, network, ""},
		{map[string]any{"ramdisk": url}, network, ""},
		{map[string]any{"kernel_append_params": "quiet"}, "are ramdisk_kernel_arguments", ""},
		{map[string]any{"ramdisk_kernel_arguments": "quiet"}, network, ""},
		{map[string]any{"configdrive": map[string]any{"user_data": "x"}}, "it writes no configuration drive", ""},
		{map[string]any{"capabilities": `{"boot_mode": "uefi"}`}, "", ""},
		{map[string]any{"capabilities": `{"boot_mode": "fast"}`}, "it must be bios or uefi", "it must be bios or uefi"},
	} {
		for driver, b := range types(t) {
			for deploy, want := range map[string]string{"ramdisk": test.ramdisk, "custom-agent": test.custom} {
				n := with(driver, nil)
				n.InstanceInfo, n.Interfaces = test.instance, map[string]string{"deploy": deploy}
				err := b.Validate(n)["deploy"]
				if want == "" {
					require.NoError(t, err, "%v", test.instance)
					continue
				}
				require.ErrorIs(t, err, conductor.Invalid, "%v", test.instance)
				require.ErrorContains(t, err, want)
				require.NotContains(t, err.Error(), url)
			}
		}
	}
}

func TestSecureBootNeedsTheManagementInterfaceRedfish(t *testing.T) {
	for driver, b := range types(t) {
		for _, capabilities := range []any{`{"secure_boot": "true"}`, map[string]any{"secure_boot": true}} {
			n := with(driver, nil)
			n.InstanceInfo, n.Interfaces = map[string]any{"capabilities": capabilities}, map[string]string{"deploy": "ramdisk"}
			if err := b.Validate(n)["deploy"]; driver == "redfish" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "does not change secure boot")
			}
			n.Interfaces["management"] = "noop"
			require.ErrorContains(t, b.Validate(n)["deploy"], "the management interface noop of driver "+driver+" does not change secure boot")
		}
	}
}

// SECURITY.md: A file that `redfish_verify_ca` or `agent_verify_ca` names is read if it is a regular file of 1 byte to
// 1 MiB.
func TestAuthoritiesAreReadFromFilesAndFolders(t *testing.T) {
	server := startRedfish(t)
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, text, 0o600))
		return name
	}
	file := write("ca/ca.pem", server.CAPEM)
	write("ca/README", []byte("not a certificate"))
	foreign := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Certificate = "foreign CA" })
	fifo := write("fifos/a.pem", nil)
	require.NoError(t, os.Remove(fifo))
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for i := range 9 {
		write(fmt.Sprintf("large/%d.pem", i), append(make([]byte, 1<<20-len(server.CAPEM)), server.CAPEM...))
	}
	for i := range 8 {
		write(fmt.Sprintf("permitted/%d.pem", i), slices.Concat(server.CAPEM, make([]byte, 1<<20-len(server.CAPEM))))
	}
	for i := range 1001 {
		write(fmt.Sprintf("many/%d.pem", i), nil)
	}
	tests := map[string]struct {
		value any
		want  string // part of the error; empty if the BMC is reached
	}{
		"the file":                {file, ""},
		"the folder":              {filepath.Dir(file), ""},
		"nothing verified":        {false, ""},
		"the system's":            {true, "TLS"},
		"no certificate":          {write("text", []byte("correct+horse/1")), "has no certificates in PEM form"},
		"another certificate":     {write("foreign.pem", foreign.CAPEM), "TLS"},
		"a folder without":        {t.TempDir(), "has no file with certificates"},
		"a device":                {os.DevNull, "is not a regular file"},
		"a FIFO":                  {fifo, "is not a regular file"},
		"a folder with a FIFO":    {filepath.Dir(fifo), "has no file with certificates"},
		"a folder of 8 MiB":       {filepath.Join(dir, "permitted"), ""},
		"a folder of 9 MiB":       {filepath.Join(dir, "large"), "are longer than 8 MiB"},
		"a folder of 1001 files":  {filepath.Join(dir, "many"), "has more than 1000 files"},
		"an empty file":           {write("empty", nil), "is empty"},
		"the kernel's log":        {"/proc/kmsg", "is empty or one of the kernel"}, // reading it takes messages away, and blocks
		"a file that is too long": {write("long", append(make([]byte, 1<<20), server.CAPEM...)), "and at most 1048576 are read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			info := redfishInfo(t, server)
			info["redfish_verify_ca"] = test.value
			_, err := newRedfish(t, hardware.Config{}).PowerState(t.Context(), &conductor.Node{UUID: uuid, DriverInfo: info})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "horse")
		})
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
