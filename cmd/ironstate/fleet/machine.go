// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// machine is a machine with a BMC. Its fields are constant after newMachine, but for the counters.
type machine struct {
	name, mac string
	family    string
	system    string // path of the system at the BMC
	bmc       *bmctest.Redfish
	host      *agenttest.Machine
	boots     *booter
	dice      map[string]*dice // by the name of the fault

	powerOns, powerOffs, resets  atomic.Int64
	agentBoots, diskBoots, media atomic.Int64
}

// shared holds the settings, the folder, the credentials and the certificates that all machines of a fleet use.
type shared struct {
	*options
	folder    folder
	password  secret.Text
	authority *tls.Certificate
	boots     *booter
	roots     *x509.CertPool // nil for the operating system's
}

// noAPI is the API of agents that are never started without one in their boot image.
const noAPI = "http://no-api.invalid"

// newMachine starts a machine, which is off. number is 1 for the first.
func newMachine(s *shared, number int) (m *machine, err error) {
	profile := s.profiles[(number-1)%len(s.profiles)]
	m = &machine{name: fmt.Sprintf("%s-%04d", s.name, number), mac: macOf(s.name, number), family: profile.Name, boots: s.boots}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start %s: %w", m.name, err), m.close())
		}
	}()
	var ofBMC []bmctest.Fault
	var ofAgent []agenttest.Fault
	m.dice, ofBMC, ofAgent = s.faultsOf(m.name)
	port := 0
	if s.basePort != 0 {
		port = s.basePort + number
	}
	id := cmp.Or(profile.SystemID, "1")
	m.system = "/redfish/v1/Systems/" + id
	m.host, err = agenttest.New(agenttest.Config{
		API: cmp.Or(s.api, noAPI), Inspection: s.api != "", Roots: s.roots, MACs: []string{m.mac}, Host: s.host, BMCAddress: s.host,
		Disk: s.folder.file(disksFolder + "/" + m.name + ".raw"), DiskSize: s.diskSize,
		Boots: m.boot, PowerOff: func() { _ = m.bmc.SetPower(id, "Off") },
		Heartbeat: s.heartbeat, KeepCommands: 1, Faults: ofAgent,
	})
	if err != nil {
		return m, err
	}
	m.bmc, err = bmctest.NewRedfish(bmctest.RedfishConfig{
		Addr: net.JoinHostPort(s.host, strconv.Itoa(port)), Profile: profile, Authority: s.authority, Faults: ofBMC,
		Users:   map[string]secret.Text{s.user: s.password},
		Systems: []bmctest.System{{Name: m.name, Hardware: bmctest.Hardware{MACs: []string{m.mac}, Drives: 1}, OnPower: m.power}},
		OnMedia: func(_, image string) {
			if image != "" {
				m.media.Add(1)
			}
		},
	})
	return m, err
}

// power is bmctest.System.OnPower.
func (m *machine) power(on bool, source, image string) {
	switch {
	case !on:
		m.powerOffs.Add(1)
	case m.host.Running() == "":
		m.powerOns.Add(1)
	default:
		m.resets.Add(1)
	}
	m.host.Power(on, source, image)
}

// boot is agenttest.Config.Boots.
func (m *machine) boot(ctx context.Context, source, image string) (parameters string, agent bool) {
	if m.dice[noBoot].fall() {
		<-ctx.Done()
		return "", false
	}
	parameters, agent = m.boots.boot(ctx, source, image)
	if agent {
		m.agentBoots.Add(1)
	} else {
		m.diskBoots.Add(1)
	}
	return parameters, agent
}

// The states of a machine, as the page and the metrics show them.
const (
	isOff     = "off"
	isBooting = "booting"
	runsAgent = "agent"
	runsDisk  = "disk"
	runsOther = "other" // an image without an agent, or a rescue system
)

var allStates = []string{isOff, isBooting, runsAgent, runsDisk, runsOther}

func (m *machine) state() string {
	switch running := m.host.Running(); running {
	case "":
		return isOff
	case isBooting, runsAgent, runsDisk:
		return running
	default:
		return runsOther
	}
}

// faults returns how many faults of the machine were played.
func (m *machine) faults() (played int64) {
	for _, d := range m.dice {
		played += d.played.Load()
	}
	return played
}

// close ends the machine. A machine that newMachine could not start has a part of it alone.
func (m *machine) close() (err error) {
	if m.bmc != nil {
		err = m.bmc.Close()
	}
	if m.host != nil {
		err = errors.Join(err, m.host.Close())
	}
	return err
}

// macOf returns the address of the network interface of a machine. It is a locally administered one.
func macOf(fleet string, number int) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(fleet))
	hash := sum.Sum32()
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", hash>>8&0xff, hash&0xff, number>>16&0xff, number>>8&0xff, number&0xff)
}
