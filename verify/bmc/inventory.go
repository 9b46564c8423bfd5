// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// The limits of a call that reads many resources, or changes what a BMC may refuse for a minute. A system with 24
// drives and 32 memory modules takes about 80 requests.
const (
	longTime     = 120 * time.Second
	longRequests = 1_000
)

// Inventory is a BMC's information on its machine. Its JSON is the inventory that
// Ironic's Redfish inspection stores for a node, and in SystemVendor.Firmware also what
// Ironic's agent stores. A value that the BMC does not report is zero.
//
// Source: inspect_hardware in ironic/drivers/modules/redfish/inspect.py.
type Inventory struct {
	Memory             Memory              `json:"memory,omitzero"`
	CPU                CPU                 `json:"cpu"`
	Disks              []Disk              `json:"disks,omitzero"`
	StorageControllers []StorageController `json:"storage_controllers,omitzero"`
	Interfaces         []Interface         `json:"interfaces"`
	SystemVendor       SystemVendor        `json:"system_vendor,omitzero"`
	Boot               Boot                `json:"boot,omitzero"`

	// Power is the power state: PowerOn or PowerOff, or NoPower if the BMC reports no other.
	Power states.Power `json:"-"`
	// LocalGB is Ironic's property local_gb: the size of the smallest volume, or else
	// drive, of at least 4 GiB, less 1 GiB.
	LocalGB int `json:"-"`
}

// Memory is the memory of a machine.
type Memory struct {
	PhysicalMB int `json:"physical_mb"` // MiB
}

// CPU describes the processors of a machine. The count includes all threads; the
// model, the frequency in MHz and the architecture ("x86_64") are the first one's.
type CPU struct {
	Count        int     `json:"count"`
	Architecture string  `json:"architecture"`
	ModelName    string  `json:"model_name,omitzero"`
	Frequency    float64 `json:"frequency,omitzero"`
}

// Disk is a drive.
type Disk struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes
}

// StorageController is a Storage resource with its controllers and drives.
type StorageController struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Controllers []Controller `json:"storage_controllers"`
	Drives      []Drive      `json:"drives"`
}

// Controller is a controller that a Storage resource contains.
type Controller struct {
	MemberID            string   `json:"member_id"`
	Name                string   `json:"name"`
	RAIDTypes           []string `json:"raid_types"`           // "RAID1"
	SpeedGbps           float64  `json:"speed_gbps,omitzero"`  // of the interface to the drives
	ControllerProtocols []string `json:"controller_protocols"` // to the controller: "PCIe"
	DeviceProtocols     []string `json:"device_protocols"`     // to the drives: "SATA"
	Status              Status   `json:"status,omitzero"`
}

// Status is the health and the state of a part, in Redfish's words: "OK", "Enabled".
type Status struct {
	Health       string `json:"health,omitzero"`
	State        string `json:"state,omitzero"`
	HealthRollup string `json:"health_rollup,omitzero"` // with all parts of it
}

// Drive is a drive of a storage controller.
type Drive struct {
	Disk
	ID           string `json:"id"`
	MediaType    string `json:"media_type"`
	SerialNumber string `json:"serial_number"`
	Manufacturer string `json:"manufacturer"`
	Model        string `json:"model"`
	Revision     string `json:"revision"`
	Protocol     string `json:"protocol,omitzero"`
	Status       Status `json:"status,omitzero"`
}

// Interface is an Ethernet interface. Its MAC address is in lower case.
type Interface struct {
	MACAddress string `json:"mac_address"`
	Name       string `json:"name"`
	SpeedMbps  int    `json:"speed_mbps,omitzero"`
	// Enabled is false if the BMC reports the interface as disabled, absent or the like.
	Enabled bool `json:"-"`
}

// SystemVendor says who made the machine.
type SystemVendor struct {
	ProductName  string   `json:"product_name,omitzero"`
	SerialNumber string   `json:"serial_number,omitzero"`
	Manufacturer string   `json:"manufacturer,omitzero"`
	SystemUUID   string   `json:"system_uuid,omitzero"`
	Firmware     Firmware `json:"firmware,omitzero"`
}

// Firmware is the system's firmware: its BIOS or UEFI.
type Firmware struct {
	Version string `json:"version"`
}

// Boot is how a machine boots: "uefi" or "bios".
type Boot struct {
	CurrentBootMode string `json:"current_boot_mode"`
}

// Inspect reads a node's inventory over Redfish, with up to 1,000 requests in up to 120 s, whatever
// the limits of the Config. If a part cannot be read, or has a value that no machine has, Inspect
// returns the other parts beside the error. Over IPMI the error is of the kind [verify.Unsupported].
func (d *Driver) Inspect(ctx context.Context, id string) (Inventory, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the inventory", long: true}, func(r *reader) (Inventory, error) {
		inventory := r.inventory()
		return inventory, r.err()
	})
}

func (r *reader) inventory() Inventory {
	system := &r.system
	i := Inventory{
		SystemVendor: SystemVendor{
			ProductName: system.Model, SerialNumber: system.SerialNumber, Manufacturer: system.Manufacturer,
			SystemUUID: system.UUID, Firmware: Firmware{Version: system.BIOSVersion},
		},
		Boot: Boot{CurrentBootMode: modeOf(string(system.Boot.BootSourceOverrideMode))},
	}
	word, err := r.power()
	if err == nil {
		i.Power, err = parsePower(word)
	}
	r.note(err)
	i.Memory.PhysicalMB = r.memory(system.MemorySummary.TotalSystemMemoryGiB)
	i.CPU = r.processors(system.ProcessorSummary)
	r.storage(&i)
	i.Interfaces = r.interfaces()
	return i
}

// maxMiB is more memory than a machine has.
const maxMiB = 1 << 40

// memory returns the size of the memory in MiB: from the system's summary, or else the sum of the modules.
func (r *reader) memory(gib float32) int {
	mib := math.Round(float64(gib) * 1024)
	if mib == 0 {
		readMembers(r, r.link("Memory"), func(m *schemas.Memory, _ resource) { mib += float64(m.CapacityMiB) })
	}
	if mib < 0 || mib > maxMiB {
		r.note(failure.Protocolf("the system has %v MiB of memory", mib))
		return 0
	}
	return int(mib)
}

// architectures maps Redfish's instruction sets to Ironic's words.
var architectures = map[schemas.InstructionSet]string{
	"x86": "i686", "x86-64": "x86_64", "IA-64": "ia64", "ARM-A32": "arm", "ARM-A64": "aarch64", "MIPS32": "mips", "MIPS64": "mips64",
}

// instructionSets maps Redfish's processor architectures to the instruction sets that they stand for in Ironic.
var instructionSets = map[schemas.ProcessorArchitecture]schemas.InstructionSet{
	"x86": "x86-64", "IA-64": "IA-64", "ARM": "ARM-A64", "MIPS": "MIPS64",
}

// processors describes the processors. If they do not report their threads, or are not there, the count comes
// from the system's summary: of threads, or else of cores, or else of processors.
func (r *reader) processors(summary schemas.ProcessorSummary) (cpu CPU) {
	first := true
	readMembers(r, r.link("Processors"), func(p *schemas.Processor, found resource) {
		if p.Status.State == "Absent" || p.ProcessorType != "" && p.ProcessorType != "CPU" {
			return
		}
		threads := p.TotalThreads
		if threads == 0 { // sushy-tools writes the number as text, which Ironic accepts
			threads, _ = strconv.Atoi(found.raw.Text("TotalThreads"))
		}
		cpu.Count += max(0, threads)
		if first {
			first = false
			cpu.ModelName = p.Model
			cpu.Architecture = architectures[cmp.Or(p.InstructionSet, instructionSets[p.ProcessorArchitecture])]
			cpu.Frequency = math.Max(0, float64(p.MaxSpeedMHz))
		}
	})
	cores, _ := r.at("ProcessorSummary", "CoreCount").(json.Number)
	n, _ := strconv.Atoi(cores.String())
	cpu.Count = cmp.Or(cpu.Count, summary.LogicalProcessorCount, n, summary.Count)
	cpu.ModelName = cmp.Or(cpu.ModelName, summary.Model)
	if cpu.Count < 0 || cpu.Count > 1<<20 {
		r.note(failure.Protocolf("the system has %d processors", cpu.Count))
		cpu.Count = 0
	}
	return cpu
}

// storage reads the drives and the volumes. A system without Storage resources may have the older SimpleStorage.
func (r *reader) storage(i *Inventory) {
	var drives, volumes []int64
	disk := func(name string, size int64) Disk {
		i.Disks = append(i.Disks, Disk{Name: name, Size: max(0, size)})
		drives = append(drives, size)
		return i.Disks[len(i.Disks)-1]
	}
	readMembers(r, r.link("Storage"), func(s *schemas.Storage, found resource) {
		c := StorageController{ID: s.ID, Name: s.Name, Controllers: controllersOf(found), Drives: []Drive{}}
		readEach(r, found.links("Drives"), func(d *schemas.Drive, _ resource) {
			if d.Status.State == "Absent" {
				return
			}
			c.Drives = append(c.Drives, Drive{
				Disk: disk(d.Name, d.CapacityBytes), ID: d.ID, MediaType: string(d.MediaType), SerialNumber: d.SerialNumber,
				Manufacturer: d.Manufacturer, Model: d.Model, Revision: d.Revision, Protocol: string(d.Protocol),
				Status: Status{string(d.Status.Health), string(d.Status.State), string(d.Status.HealthRollup)},
			})
		})
		i.StorageControllers = append(i.StorageControllers, c)
		readMembers(r, found.link("Volumes"), func(v *schemas.Volume, _ resource) { volumes = append(volumes, int64(v.CapacityBytes)) })
	})
	if len(i.StorageControllers) == 0 {
		readMembers(r, r.link("SimpleStorage"), func(s *schemas.SimpleStorage, _ resource) {
			for _, d := range s.Devices {
				if d.Status.State != "Absent" {
					disk(d.Name, d.CapacityBytes)
				}
			}
		})
	}
	i.LocalGB = cmp.Or(localGB(volumes), localGB(drives))
}

// controllersOf returns the controllers that a Storage resource contains. A property of another type counts as absent.
//
// Source: _parse_storage_controller in ironic/drivers/modules/redfish/inspect.py.
func controllersOf(storage resource) []Controller {
	all := []Controller{}
	list, _ := storage.at("StorageControllers").([]any)
	for _, item := range list {
		o, _ := item.(map[string]any) // gofish refuses any other, so that package guard has removed it
		text := func(in map[string]any, name string) string { value, _ := in[name].(string); return value }
		texts := func(name string) []string {
			found := []string{}
			values, _ := o[name].([]any)
			for _, value := range values {
				if word, ok := value.(string); ok {
					found = append(found, word)
				}
			}
			return found
		}
		number, _ := o["SpeedGbps"].(json.Number)
		speed, _ := number.Float64()
		status, _ := o["Status"].(map[string]any)
		all = append(all, Controller{
			MemberID: text(o, "MemberId"), Name: text(o, "Name"), RAIDTypes: texts("SupportedRAIDTypes"), SpeedGbps: max(0, speed),
			ControllerProtocols: texts("SupportedControllerProtocols"), DeviceProtocols: texts("SupportedDeviceProtocols"),
			Status: Status{text(status, "Health"), text(status, "State"), text(status, "HealthRollup")},
		})
	}
	return all
}

// localGB returns the smallest of sizes of at least 4 GiB, in GiB and less 1, and 0 if there is none.
func localGB(sizes []int64) int {
	smallest := int64(math.MaxInt64)
	for _, size := range sizes {
		if size >= 4<<30 {
			smallest = min(smallest, size)
		}
	}
	if smallest == math.MaxInt64 {
		return 0
	}
	return int(smallest>>30) - 1
}
