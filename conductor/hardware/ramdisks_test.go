// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// serving returns a hardware type that serves images.
func serving(t *testing.T) *Type {
	t.Helper()
	server, err := images.New(images.Config{Folder: t.TempDir(), URL: "http://192.0.2.1:6180"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	b, err := NewRedfish(Config{Images: server, APIURL: "http://192.0.2.1:6385", Bootloader: "http://images.example/esp"})
	require.NoError(t, err)
	return b
}

func TestARescueBootsItsOwnRamdiskIfItIsNamedWhole(t *testing.T) {
	const at = "http://images.example/"
	b := serving(t)
	for _, test := range []struct {
		state states.State
		names []string // of the keys of driver_info
		want  string   // the prefix of the kernel and the ramdisk; empty for an error or none
	}{
		{states.Rescuing, []string{"rescue_kernel", "rescue_ramdisk", "deploy_kernel", "deploy_ramdisk"}, "rescue"},
		{states.Rescuing, []string{"rescue_kernel", "rescue_ramdisk"}, "rescue"},
		{states.Rescuing, []string{"rescue_kernel", "deploy_kernel", "deploy_ramdisk"}, "deploy"},
		{states.Rescuing, []string{"rescue_ramdisk", "deploy_kernel", "deploy_ramdisk"}, "deploy"},
		{states.Cleaning, []string{"rescue_kernel", "rescue_ramdisk", "deploy_kernel", "deploy_ramdisk"}, "deploy"},
		{states.Cleaning, []string{"rescue_kernel", "rescue_ramdisk"}, ""},
		{states.Cleaning, []string{"deploy_kernel"}, ""},
		{states.Cleaning, []string{"deploy_ramdisk"}, ""},
	} {
		n := &conductor.Node{
			UUID:           "1be26c0b-03f2-4d2e-ae87-c02d7f33c123",
			Driver:         "redfish",
			ProvisionState: test.state,
			DriverInfo:     map[string]any{},
		}
		for _, name := range test.names {
			n.DriverInfo[name] = at + name
		}
		for kind, medium := range map[string]func(Node) (medium, error){
			"ipxe": scriptBoot{}.agentMedium, "redfish-virtual-media": mediaBoot{}.agentMedium,
		} {
			m, err := medium(b.on(n))
			if test.want != "" {
				require.NoError(t, err, "%s %v", kind, test)
				require.Equal(t, at+test.want+"_kernel", m.kernel)
				require.Equal(t, at+test.want+"_ramdisk", m.ramdisk)
				require.Equal(t, "nofb vga=normal", m.parameters)
				continue
			}
			require.True(t, err != nil || m.kernel == "" && m.ramdisk == "", "%s %v", kind, test)
		}
	}
}

func TestTheAgentsKernelParametersDependOnTheSeries(t *testing.T) {
	for series, want := range map[states.Series]string{
		states.NoSeries: "nofb vga=normal", states.Antelope: "nofb nomodeset vga=normal",
		states.Bobcat: "nofb vga=normal", states.Latest(): "nofb vga=normal",
	} {
		for parameters, want := range map[string]string{"": want, "quiet": "quiet"} {
			c, err := Config{Series: series, KernelParameters: parameters}.withDefaults()
			require.NoError(t, err)
			require.Equal(t, want, c.KernelParameters, series)
		}
	}
}

func TestANodeBootsTheRamdiskOfItsArchitecture(t *testing.T) {
	const at = "http://images.example/"
	b := serving(t)
	b.config.DeployKernel, b.config.DeployRamdisk = at+"k", at+"r"
	b.config.ByArchitecture = map[string]BootFiles{
		"aarch64": {at + "arm.k", at + "arm.r", at + "arm.esp"}, "ppc64le": {Bootloader: at + "ppc.esp"},
		"i686": {Kernel: at + "i.k", Ramdisk: at + "i.r"},
	}
	own := map[string]any{"deploy_kernel": at + "own.k", "deploy_ramdisk": at + "own.r", "bootloader": at + "own.esp"}
	for _, test := range []struct {
		architecture                any
		driverInfo                  map[string]any
		kernel, ramdisk, bootloader string
	}{
		{nil, nil, "k", "r", "esp"},
		{"x86_64", nil, "k", "r", "esp"},
		{"aarch64", nil, "arm.k", "arm.r", "arm.esp"},
		{"aarch64", map[string]any{"deploy_kernel": at + "own.k"}, "arm.k", "arm.r", "arm.esp"},
		{"aarch64", own, "own.k", "own.r", "own.esp"},
		{"ppc64le", nil, "k", "r", "ppc.esp"},
		{"i686", nil, "i.k", "i.r", "esp"},
		{7, nil, "k", "r", "esp"},
	} {
		n := &conductor.Node{Driver: "redfish", DriverInfo: test.driverInfo, Properties: map[string]any{"cpu_arch": test.architecture}}
		m, err := mediaBoot{}.agentMedium(b.on(n))
		require.NoError(t, err)
		require.Equal(t, [3]string{at + test.kernel, at + test.ramdisk, at + test.bootloader}, [3]string{m.kernel, m.ramdisk, m.bootloader}, test)
		m, err = scriptBoot{}.agentMedium(b.on(n))
		require.NoError(t, err)
		require.Equal(t, [2]string{at + test.kernel, at + test.ramdisk}, [2]string{m.kernel, m.ramdisk}, test)
	}
	_, err := NewRedfish(Config{ByArchitecture: map[string]BootFiles{"aarch64": {Kernel: at + "k"}}})
	require.ErrorContains(t, err, "both a kernel and a ramdisk, or neither")
}

func TestAnInstanceOfIPXEHasWhatAScriptCanName(t *testing.T) {
	const at = "http://images.example/"
	b := serving(t)
	for _, test := range []struct {
		instance map[string]any
		ok       bool
	}{
		{nil, true},
		{map[string]any{"boot_iso": at + "a.iso"}, true},
		{map[string]any{"boot_iso": at + "a b.iso"}, false},
		{map[string]any{"boot_iso": at + "${net0/mac}.iso"}, false},
		{map[string]any{"boot_iso": "file:///a.iso"}, false},
		{map[string]any{"boot_iso": "a.iso"}, false},
		{map[string]any{"kernel": at + "k", "ramdisk": at + "r"}, true},
		{map[string]any{"kernel": at + "k"}, false},
		{map[string]any{"ramdisk": at + "r"}, false},
		{map[string]any{"kernel": at + "k", "ramdisk": "ftp://images.example/r"}, false},
		{map[string]any{"kernel": at + "k", "ramdisk": at + "r", "ramdisk_kernel_arguments": "a=${b}"}, false},
	} {
		_, err := scriptBoot{}.instanceMedium(b.on(&conductor.Node{Driver: "redfish", InstanceInfo: test.instance}))
		require.Equal(t, test.ok, err == nil, "%v: %v", test.instance, err)
		if err != nil {
			require.ErrorIs(t, err, conductor.Invalid)
		}
	}
}

func TestAConfigDriveIsBuiltInTheFolderOfImages(t *testing.T) {
	files := map[string][]byte{"openstack/latest/user_data": []byte("a text")}
	plain, err := NewRedfish(Config{})
	require.NoError(t, err)
	_, err = plain.BuildConfigDrive(t.Context(), files)
	require.NoError(t, err)
	with := serving(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err = with.BuildConfigDrive(t.Context(), files)
	require.NoError(t, err)
	_, err = plain.BuildConfigDrive(t.Context(), files)
	require.ErrorContains(t, err, "build a configuration drive: ")
	var wrong *machine.ConfigError
	_, err = new(Type).BuildConfigDrive(t.Context(), files)
	require.ErrorAs(t, err, &wrong)
}

func TestTheBootLoaderOfBIOSMachinesIsInTheFolderOfImages(t *testing.T) {
	b := serving(t)
	folder := filepath.Dir(b.config.Images.Temporary())
	for _, files := range [][]string{{"", ""}, {"isolinux.bin", ""}, {"isolinux.bin", "ldlinux.c32"}} {
		var want [2]string
		for i, name := range files {
			if name != "" {
				require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("code"), 0o600))
				want[i] = "file://" + filepath.Join(folder, name)
			}
		}
		isolinux, ldlinux := mediaBoot{}.isolinux(b.on(&conductor.Node{}))
		require.Equal(t, want, [2]string{isolinux, ldlinux})
	}
}

func TestTheBootTimeoutOfIPMIIsDisabledUnlessTheNodeKeepsIt(t *testing.T) {
	for value, keeps := range map[any]bool{nil: false, true: false, "false": true, "0": true} {
		c, err := parseIPMI(info{&conductor.Node{DriverInfo: map[string]any{
			"ipmi_address": "192.0.2.1", "ipmi_username": "u", "ipmi_password": "p", "ipmi_disable_boot_timeout": value,
		}}})
		require.NoError(t, err)
		require.Equal(t, keeps, c.KeepBootTimeout, "%v", value)
	}
}

func TestIPMIKnowsTheVendorOfTheMachine(t *testing.T) {
	for _, vendor := range []any{"supermicro", "", nil, 7} {
		c, err := parseIPMI(info{&conductor.Node{
			DriverInfo: map[string]any{"ipmi_address": "192.0.2.1", "ipmi_username": "u", "ipmi_password": "p"},
			Properties: map[string]any{"vendor": vendor},
		}})
		require.NoError(t, err)
		require.Equal(t, vendor == "supermicro", c.Vendor == "supermicro")
	}
}

func TestTheWordsOfVerifyCAAreTrueOrFalse(t *testing.T) {
	for value, insecure := range map[any]bool{true: false, false: true, "True": false, " no ": true, "0": true, "yes": false} {
		pool, got, err := info{&conductor.Node{DriverInfo: map[string]any{"redfish_verify_ca": value}}}.verifyCA("redfish_verify_ca")
		require.NoError(t, err)
		require.Nil(t, pool)
		require.Equal(t, insecure, got, "%v", value)
	}
}

func TestAHardwareTypesOptionsApplyToItsBMCs(t *testing.T) {
	b, err := NewRedfish(Config{Timeout: 7 * time.Second, AnyBIOSSetting: true, CheckManagement: true})
	require.NoError(t, err)
	c, err := b.bmcs().configOf(&conductor.Node{UUID: "1", DriverInfo: map[string]any{
		"redfish_address": "https://192.0.2.1", "redfish_username": "u", "redfish_password": "p",
	}})
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, c.Timeout)
	require.True(t, c.AnyBIOSSetting)
	require.True(t, c.CheckManagement)
}

func TestVerifyCAAppliesToNodesWithoutAPathOfTheirOwn(t *testing.T) {
	of := func(value any) *conductor.Node {
		info := map[string]any{"redfish_address": "https://192.0.2.1", "redfish_username": "u", "redfish_password": "p"}
		if value != nil {
			info["redfish_verify_ca"] = value
		}
		return &conductor.Node{UUID: "1", DriverInfo: info}
	}
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Users: map[string]secret.Text{"u": secret.New("p")}})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	folder := t.TempDir()
	ours, own := filepath.Join(folder, "ours.pem"), filepath.Join(folder, "own.pem")
	for _, path := range []string{ours, own} {
		require.NoError(t, os.WriteFile(path, server.CAPEM, 0o600))
	}
	b, err := NewRedfish(Config{VerifyCA: ours})
	require.NoError(t, err)
	for value, want := range map[any]struct{ configured, insecure bool }{
		nil: {true, false}, true: {true, false}, "True": {true, false}, false: {false, true}, own: {false, false},
	} {
		c, err := b.bmcs().configOf(of(value))
		require.NoError(t, err)
		require.Equal(t, want.configured, c.RootCAs == b.bmcs().authorities, "%v", value)
		require.Equal(t, want.insecure, c.InsecureSkipTLSVerify, "%v", value)
	}
	for _, path := range []string{filepath.Join(folder, "none"), t.TempDir()} {
		_, err = NewRedfish(Config{VerifyCA: path})
		require.ErrorContains(t, err, "VerifyCA")
	}
}

func TestHalfOfARamdiskIsRefusedIfConfigured(t *testing.T) {
	const at = "http://images.example/"
	for _, whole := range []bool{false, true} {
		b := serving(t)
		b.config.DeployKernel, b.config.DeployRamdisk, b.config.Bootloader, b.config.WholeRamdisks = at+"k", at+"r", at+"esp", whole
		for _, test := range []struct {
			state states.State
			names []string // of the keys of driver_info
			lacks string   // empty for nothing
		}{
			{states.Cleaning, nil, ""},
			{states.Cleaning, []string{"deploy_kernel", "deploy_ramdisk"}, ""},
			{states.Cleaning, []string{"deploy_kernel"}, "deploy_kernel, but not deploy_ramdisk"},
			{states.Cleaning, []string{"deploy_ramdisk"}, "deploy_ramdisk, but not deploy_kernel"},
			{states.Cleaning, []string{"rescue_ramdisk"}, ""},
			{states.Rescuing, []string{"rescue_ramdisk"}, "rescue_ramdisk, but not rescue_kernel"},
		} {
			n := &conductor.Node{Driver: "redfish", ProvisionState: test.state, DriverInfo: map[string]any{}}
			for _, name := range test.names {
				n.DriverInfo[name] = at + name
			}
			for _, medium := range []func(Node) (medium, error){scriptBoot{}.agentMedium, mediaBoot{}.agentMedium} {
				if _, err := medium(b.on(n)); whole && test.lacks != "" {
					require.ErrorIs(t, err, conductor.Invalid)
					require.ErrorContains(t, err, test.lacks)
				} else {
					require.NoError(t, err, "%v", test)
				}
			}
		}
	}
}

func TestARefusalNamesTheKeyThatTheNodeHas(t *testing.T) {
	const at, wrong = "http://images.example/", "ftp://images.example/k"
	b := serving(t)
	b.config.KernelParameters = `a "b`
	type object = map[string]any
	agentParameters, instance := func(value string) object { return object{"kernel_append_params": value} },
		object{"kernel": at + "k", "ramdisk": at + "r", "ramdisk_kernel_arguments": `a "b`}
	for _, test := range []struct {
		state                    states.State
		deploy                   string
		driverInfo, instanceInfo object
		want                     string
	}{
		{states.Available, "ramdisk", nil, instance, "ramdisk_kernel_arguments in instance_info"},
		{states.Available, "direct", nil, agentParameters(`a "b`), "kernel_append_params in instance_info"},
		{states.Available, "direct", agentParameters("quiet"), agentParameters(`a "b`), "kernel_append_params in instance_info"},
		{states.Available, "direct", agentParameters(`a "b`), nil, "kernel_append_params in driver_info"},
		{states.Available, "direct", nil, nil, "kernel_append_params in the service's configuration"},
		{states.Rescuing, "direct", object{"rescue_kernel": wrong, "rescue_ramdisk": at + "r"}, nil, "rescue_kernel in driver_info"},
		{states.Rescuing, "direct", object{"rescue_kernel": at + "k", "rescue_ramdisk": wrong}, nil, "rescue_ramdisk in driver_info"},
		{states.Rescuing, "direct", object{"deploy_kernel": wrong, "deploy_ramdisk": at + "r"}, nil, "deploy_kernel in driver_info"},
		{states.Cleaning, "direct", object{"deploy_kernel": at + "k", "deploy_ramdisk": wrong}, nil, "deploy_ramdisk in driver_info"},
	} {
		for _, boot := range []string{"ipxe", "redfish-virtual-media"} {
			n := &conductor.Node{
				Driver: "redfish", ProvisionState: test.state, DriverInfo: object{"deploy_kernel": at + "k", "deploy_ramdisk": at + "r"},
				InstanceInfo: test.instanceInfo, Interfaces: map[string]string{"boot": boot, "deploy": test.deploy},
			}
			maps.Copy(n.DriverInfo, test.driverInfo)
			node := b.on(n)
			medium := mediaBoot{}.agentMedium
			if boot == "ipxe" {
				medium = scriptBoot{}.agentMedium
			}
			switch {
			case test.deploy == "ramdisk" && boot == "ipxe":
				medium = scriptBoot{}.instanceMedium
			case test.deploy == "ramdisk":
				medium = mediaBoot{}.instanceMedium
			}
			_, err := medium(node)
			require.ErrorIs(t, err, conductor.Invalid)
			require.ErrorContains(t, err, "has "+test.want+", which the boot interface "+boot, "%v", test)
		}
	}
}
