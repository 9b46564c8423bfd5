// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	_ "embed"
	"os"
	"strings"

	"github.com/ironstate/ironstate/internal/try"
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
	//go:embed config/base.conf
	baseConfig string
	//go:embed config/fake.conf
	fakeConfig string
	//go:embed config/ipmi.conf
	ipmiConfig string
	//go:embed config/threads.conf
	threadConfig string // since 2026.1

	//go:embed python/driver.py
	driverProgram string

	//go:embed python/sitecustomize.py
	sitecustomize string // is run at the start of each of Python's processes

	//go:embed python/entry_points.txt
	driverEntries string // by which Ironic finds the driver's interfaces
)

const (
	// driverName is the name of the driver's interfaces in Ironic.
	driverName = "lockstep"
	// HostName is the name of Ironic's conductor, and the holder of its reservations.
	HostName = "lockstep"
)

// writeFiles creates the files and folders. The configuration has port 0 until start
// chooses one.
func (i *Ironic) writeFiles() {
	for _, folder := range []string{driverInfo, "http", "tftp"} {
		try.OKf(os.Mkdir(i.path(folder), 0o700), "lockstep: make folder")
	}
	i.writeConfig("0")
	i.write(driverFile, driverProgram)
	i.write("sitecustomize.py", sitecustomize)
	i.write(driverInfo+"/METADATA", "Metadata-Version: 2.1\nName: lockstep\nVersion: 1.0\n")
	i.write(driverInfo+"/entry_points.txt", driverEntries)
}

func (i *Ironic) write(name, text string) {
	try.OKf(os.WriteFile(i.path(name), []byte(text), 0o600), "lockstep: write a file of ironic")
}

func (i *Ironic) writeConfig(port string) {
	config := baseConfig + fakeConfig
	if i.options.IPMI {
		config = baseConfig + ipmiConfig
	}
	if i.Series >= states.Gazpacho {
		config += threadConfig
	}
	config += i.options.Config
	values := strings.NewReplacer("DIR", i.dir, "PORT", port, "HOST", HostName)
	i.write(configFile, values.Replace(config))
}
