// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// CacheReader is a [Hardware] that reads what the records of its nodes cache of their machines. The
// conductor calls it after a verification and before a cleaning, and since 2024.2 also after a cleaning and before
// and after a service. Since 2026.1 it calls ReadFirmware after an inspection by an agent. The power sync calls
// ReadVendor and ReadBootMode after it has read a power state. If a read fails, the conductor logs the error and leaves
// the record as it is. But if the BMC refuses the log-in ([verify.LoginRefused]) before anything is read, a cleaning or
// a service fails before its first step: a step would be refused, too, and BMCs lock accounts after a few attempts.
//
// Source: node_update_cache and node_cache_firmware_components in ironic/conductor/utils.py; do_sync_power_state in
// ironic/conductor/manager.py.
type CacheReader interface {
	// ReadVendor reads who made the BMC's firmware, which is recorded since 2026.1, and who made the machine; each is ""
	// if the machine or the node's management interface does not report it. It is called for nodes without the property
	// vendor, and the machine's vendor is stored there.
	ReadVendor(ctx context.Context, n *Node) (firmware, machine string, err error)
	// ReadBootMode reads how the machine boots, "uefi" or "bios", and whether UEFI secure boot is enabled;
	// "" and nil if the machine or the node's management interface does not report it.
	ReadBootMode(ctx context.Context, n *Node) (mode string, secureBoot *bool, err error)
	// ReadBIOS reads the BIOS settings. It returns nil if the node's BIOS interface does not read them.
	ReadBIOS(ctx context.Context, n *Node) ([]BIOSSetting, error)
	// ReadFirmware reads the firmware versions: the Component and CurrentVersion of each. It returns nil
	// if the node's firmware interface does not read them. It is called in series with a firmware
	// interface, which is 2023.2 and later.
	ReadFirmware(ctx context.Context, n *Node) ([]FirmwareComponent, error)
}

// cacheTimeout bounds the calls of a CacheReader.
const cacheTimeout = 2 * time.Minute

// cacheRefresh is what a kind of work reads again of a machine.
type cacheRefresh struct {
	part    cachePart // nil for nothing
	since   states.Series
	byAgent bool // only if an agent does the work
}

// cachePart reads a part of the task's machine, or all. It returns the change of the node's record.
type cachePart func(context.Context, *Task, *cacheReads) func(*Node)

// cacheReads are the reads of a machine by a CacheReader. They end when the BMC refuses the credentials.
type cacheReads struct {
	CacheReader
	accepted bool  // something was read, so that a later refusal concerns a resource, and not the log-in
	refused  error // why the reads have ended, nil if they have not
}

// readCache reads a part of the node's machine if its hardware type is a CacheReader. It returns the change of the
// node's record, nil for none, and an error if the BMC has refused the credentials. The context must be fenced.
func (t *Task) readCache(ctx context.Context, part cachePart) (change func(*Node), refused error) {
	reader, ok := t.hardware.(CacheReader)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	reads := &cacheReads{CacheReader: reader}
	return part(ctx, t, reads), reads.refused
}

// readMachine reads all that is cached of the task's machine.
func readMachine(ctx context.Context, t *Task, reader *cacheReads) func(*Node) {
	vendor := ""
	if !t.Node().hasVendor() {
		vendor, _ = cached(ctx, t, reader, "vendor", readVendor(reader, t.Series()))
	}
	booting, knownBoot := cached(ctx, t, reader, "boot mode", readBoot(reader))
	settings, _ := cached(ctx, t, reader, "BIOS settings", reader.ReadBIOS)
	firmware := readFirmware(ctx, t, reader)
	return func(n *Node) {
		if vendor != "" && !n.hasVendor() {
			setKey(&n.Properties, "vendor", vendor)
		}
		if knownBoot {
			n.BootMode, n.SecureBoot = booting.mode, booting.secure
		}
		if settings != nil {
			n.SetBIOSSettings(settings)
		}
		firmware(n)
	}
}

// maxVendor bounds a vendor in bytes. Text of a BMC that is longer is no name, and would leave a record no room.
const maxVendor = 255

// readVendor returns a function that reads the vendor of a machine, "" for one that is too long.
func readVendor(reader CacheReader, series states.Series) func(context.Context, *Node) (string, error) {
	return func(ctx context.Context, n *Node) (string, error) {
		firmware, machine, err := reader.ReadVendor(ctx, n)
		if series < states.Gazpacho || err != nil { // the firmware's vendor may be read without a log-in
			firmware = ""
		}
		vendor := cmp.Or(firmware, machine)
		if len(vendor) > maxVendor {
			vendor = ""
		}
		return vendor, err
	}
}

// bootState is how a machine boots, as [CacheReader] reads it.
type bootState struct {
	mode   string
	secure *bool
}

// readBoot returns a function that reads how a machine boots.
func readBoot(reader CacheReader) func(context.Context, *Node) (bootState, error) {
	return func(ctx context.Context, n *Node) (b bootState, err error) {
		b.mode, b.secure, err = reader.ReadBootMode(ctx, n)
		return b, err
	}
}

// readFirmware reads the firmware versions of the task's machine.
func readFirmware(ctx context.Context, t *Task, reader *cacheReads) func(*Node) {
	var firmware []FirmwareComponent
	if t.Series() >= states.Bobcat {
		firmware, _ = cached(ctx, t, reader, "firmware versions", reader.ReadFirmware)
	}
	return func(n *Node) { n.SetFirmware(firmware) }
}

func (n *Node) hasVendor() bool {
	vendor := n.Properties["vendor"]
	return vendor != nil && vendor != ""
}

// refreshCache updates the cached parts of a node's record before its first clean or service step, or when the work is
// done. An inspection by an agent updates the firmware versions at its end. Before the first step it returns the error
// of a BMC that refuses the credentials.
//
// Source: do_node_clean and do_next_clean_step in ironic/conductor/cleaning.py, and their like in servicing.py;
// continue_inspection in inspection.py.
func (t *Task) refreshCache(ctx context.Context, kind *workKind, done bool) error {
	refresh := kind.cached.before
	if done {
		refresh = kind.cached.after
	}
	if refresh.part == nil || t.Series() < refresh.since || !done && kind.of(t.Node()).begun() {
		return nil
	}
	if refresh.byAgent {
		if uses, err := t.engine.types.usesAgent(ctx, t.hardware, t.Node(), kind.work); err != nil || !uses {
			return err
		}
	}
	fenced, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	change, refused := t.readCache(fenced, refresh.part)
	if refused != nil && !done {
		return refused
	}
	if change == nil {
		return nil
	}
	return t.record.persist(ctx, func(n *Node) error {
		change(n)
		return nil
	})
}

// cached calls a method of a CacheReader, unless the BMC has refused the credentials, and reports whether it has
// succeeded.
func cached[T any](
	ctx context.Context, t *Task, reads *cacheReads, what string, read func(context.Context, *Node) (T, error),
) (found T, ok bool) {
	if reads.refused != nil {
		return found, false
	}
	n := t.Node()
	found, err := callHardware(ctx, t.engine.types, n, "to read the "+what, func(ctx context.Context) (T, error) { return read(ctx, n) })
	reads.accepted = reads.accepted || !reflect.ValueOf(found).IsZero()
	if err != nil {
		if verify.LoginRefused(err) && (!reads.accepted || errors.Is(err, verify.Locked)) {
			reads.refused = fmt.Errorf("read the %s: %w", what, err)
		}
		t.engine.config.Log.Warn("the "+what+" of a node could not be read", "node", n.UUID, "error", err)
		var none T
		return none, false
	}
	return found, true
}

// BIOSSetting is a setting of a node's BIOS.
//
// Source: ironic/objects/bios.py.
type BIOSSetting struct {
	Name      string     `json:"name"`
	Value     any        `json:"value"` // a string, or nil for one that the BMC does not show, such as a password
	CreatedAt time.Time  `json:"created_at,omitzero"`
	UpdatedAt *time.Time `json:"updated_at,omitzero"`
	// Registry holds the attributes of the setting in the BIOS registry, by Ironic's names:
	// "attribute_type", "allowable_values", "lower_bound", "upper_bound", "min_length",
	// "max_length", "read_only", "reset_required" and "unique".
	Registry map[string]any `json:"registry,omitzero"`
}

// SetBIOSSettings replaces the BIOS settings. A setting that existed before keeps its creation time, and
// one whose value is the same keeps the time of its change too.
func (n *Node) SetBIOSSettings(settings []BIOSSetting) {
	settings, at := slices.Clone(settings), now()
	slices.SortFunc(settings, func(a, b BIOSSetting) int { return cmp.Compare(a.Name, b.Name) })
	for i, s := range settings {
		before := slices.IndexFunc(n.BIOSSettings, func(b BIOSSetting) bool { return b.Name == s.Name })
		if before < 0 {
			settings[i].CreatedAt = at
			continue
		}
		settings[i].CreatedAt, settings[i].UpdatedAt = n.BIOSSettings[before].CreatedAt, n.BIOSSettings[before].UpdatedAt
		if n.BIOSSettings[before].Value != s.Value {
			settings[i].UpdatedAt = &at
		}
	}
	n.BIOSSettings = settings
}

// FirmwareComponent is a part of a machine with firmware.
//
// Source: ironic/objects/firmware.py.
type FirmwareComponent struct {
	Component      string `json:"component"` // "bios", "bmc", or "nic:" and an identifier
	InitialVersion string `json:"initial_version"`
	CurrentVersion string `json:"current_version"`
	// LastVersionFlashed is the version after the last change, "" if the version has not changed.
	LastVersionFlashed string `json:"last_version_flashed,omitzero"`
	// Who made the component, and which one it is; "" for what the hardware does not tell.
	Vendor       string     `json:"vendor,omitzero"`
	Model        string     `json:"model,omitzero"`
	SerialNumber string     `json:"serial_number,omitzero"`
	CreatedAt    time.Time  `json:"created_at,omitzero"`
	UpdatedAt    *time.Time `json:"updated_at,omitzero"`
}

// SetFirmware stores the CurrentVersion and the identity of components, and for a new one its version as
// InitialVersion. As in Ironic, a component that is not among them stays.
//
// Source: sync_firmware_components in ironic/objects/firmware.py.
func (n *Node) SetFirmware(components []FirmwareComponent) {
	all, at := slices.Clone(n.Firmware), now()
	for _, c := range components {
		i := slices.IndexFunc(all, func(before FirmwareComponent) bool { return before.Component == c.Component })
		if i < 0 {
			c.InitialVersion, c.LastVersionFlashed, c.CreatedAt, c.UpdatedAt = c.CurrentVersion, "", at, nil
			all = append(all, c)
			continue
		}
		after := all[i]
		if after.CurrentVersion != c.CurrentVersion {
			after.CurrentVersion, after.LastVersionFlashed = c.CurrentVersion, c.CurrentVersion
		}
		after.Vendor, after.Model, after.SerialNumber = c.Vendor, c.Model, c.SerialNumber
		if after != all[i] {
			after.UpdatedAt = &at
			all[i] = after
		}
	}
	n.Firmware = all
}
