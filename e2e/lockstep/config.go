// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/states"
)

// Options configures an Ironic.
type Options struct {
	// Root is the folder of a Debian with an Ironic, as e2e/ironic makes it; empty for the Ironic of this machine.
	Root string
	// IPMI enables the hardware type ipmi in addition to fake-hardware, with power
	// sync and recovery at short intervals.
	IPMI bool
	// Config is text in the form of ironic.conf. It is appended to the configuration
	// file, so that its settings take precedence. DIR, PORT and HOST stand for the
	// Ironic's folder, the port of its API and the name of its conductor.
	Config string
}

// Files in an Ironic's folder.
const (
	configFile   = "ironic.conf"
	databaseFile = "ironic.sqlite"
	logFile      = "ironic.log"
	driverFile   = "lockstep_driver.py"
	driverInfo   = "lockstep-1.0.dist-info"
)

var (
	//go:embed python/driver.py
	driverProgram string

	//go:embed python/sitecustomize.py
	sitecustomize string // is run at the start of each of Python's processes

	// driverEntries are the entry points by which Ironic finds the driver's interfaces.
	driverEntries = entries(map[string]string{
		"power": "Power", "deploy": "Deploy", "inspect": "Inspect", "rescue": "Rescue", "vendor": "Vendor",
	})
)

const (
	// driverName is the name of the driver's interfaces in Ironic.
	driverName = "lockstep"
	// HostName is the name of Ironic's conductor, and the holder of its reservations.
	HostName = "lockstep"
)

func entries(classes map[string]string) string {
	var text strings.Builder
	for kind, class := range sorted.All(classes) {
		fmt.Fprintf(&text, "[ironic.hardware.interfaces.%s]\n%s = lockstep_driver:%s\n", kind, driverName, class)
	}
	return text.String()
}

// writeFiles creates the files and folders. The configuration has port 0 until start
// chooses one.
func (i *Ironic) writeFiles() error {
	for _, folder := range []string{driverInfo, "http", "tftp"} {
		if err := os.Mkdir(i.path(folder), 0o700); err != nil {
			return fmt.Errorf("lockstep: make folder: %w", err)
		}
	}
	return errors.Join(
		i.writeConfig("0"),
		i.write(driverFile, driverProgram),
		i.write("sitecustomize.py", sitecustomize),
		i.write(driverInfo+"/METADATA", "Metadata-Version: 2.1\nName: lockstep\nVersion: 1.0\n"),
		i.write(driverInfo+"/entry_points.txt", driverEntries),
	)
}

func (i *Ironic) write(name, text string) error {
	if err := os.WriteFile(i.path(name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("lockstep: write a file of ironic: %w", err)
	}
	return nil
}

func (i *Ironic) writeConfig(port string) error {
	config := baseConfig
	if i.options.IPMI {
		config += ipmiConfig
	} else {
		config += fakeConfig
	}
	if i.Series >= states.Gazpacho {
		config += threadConfig
	}
	config += i.options.Config
	values := strings.NewReplacer("DIR", i.dir, "PORT", port, "HOST", HostName)
	return i.write(configFile, values.Replace(config))
}

const baseConfig = `
[DEFAULT]
auth_strategy = noauth
rpc_transport = none
transport_url = fake://
host = HOST
my_ip = 127.0.0.1
state_path = DIR
log_file = DIR/ironic.log
use_stderr = false
enabled_network_interfaces = noop
enabled_storage_interfaces = noop
enabled_console_interfaces = fake,no-console
enabled_bios_interfaces = fake,no-bios
enabled_firmware_interfaces = fake,no-firmware
enabled_raid_interfaces = fake,no-raid
[database]
connection = sqlite:///DIR/ironic.sqlite
[api]
host_ip = 127.0.0.1
port = PORT
[deploy]
http_root = DIR/http
[pxe]
tftp_root = DIR/tftp
images_path = DIR/images
instance_master_path = DIR/master_images
tftp_master_path = DIR/tftp/master_images
`

// The checks of provision states run every second, so that a wait whose start is
// moved to the past times out soon. A starting conductor fails at most
// periodic_max_workers nodes per state whose work was lost, by default 8.
//
// SQLite refuses one of two concurrent writes, and Ironic then fails the node's work.
// Therefore the periodic tasks that write are off, and only one node has work at a
// time.
const fakeConfig = `
[DEFAULT]
enabled_hardware_types = fake-hardware
enabled_boot_interfaces = fake
enabled_deploy_interfaces = fake,lockstep
enabled_inspect_interfaces = fake,lockstep,no-inspect
enabled_management_interfaces = fake
enabled_power_interfaces = fake,lockstep
enabled_rescue_interfaces = fake,lockstep,no-rescue
enabled_vendor_interfaces = fake,lockstep
[conductor]
sync_power_state_interval = 86400
sync_local_state_interval = 86400
check_provision_state_interval = 1
check_rescue_state_interval = 1
periodic_max_workers = 1000
workers_pool_size = 3000
heartbeat_interval = 86400
heartbeat_timeout = 172800
[agent]
deploy_logs_collect = never
`

// The workers are threads of the operating system since 2026.1. Each wakes up once a second when it has no work, so
// that thousands of them need a whole processor.
const threadConfig = `
[conductor]
periodic_max_workers = 40
workers_pool_size = 100
`

const ipmiConfig = `
[DEFAULT]
enabled_hardware_types = ipmi,fake-hardware
enabled_boot_interfaces = ipxe,fake
enabled_deploy_interfaces = direct,fake
enabled_inspect_interfaces = no-inspect,fake
enabled_management_interfaces = ipmitool,fake
enabled_power_interfaces = ipmitool,fake
enabled_rescue_interfaces = no-rescue,fake
enabled_vendor_interfaces = no-vendor,fake
[conductor]
sync_power_state_interval = 1
sync_local_state_interval = 86400
power_failure_recovery_interval = 1
[ipmi]
command_retry_timeout = 2
min_command_interval = 1
`
