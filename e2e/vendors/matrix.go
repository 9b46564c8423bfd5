// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// abilities are the operations of package bmc on a BMC. Each reports the values that it has read or changed, or why it
// has failed.
var abilities = []struct {
	name string
	try  func(context.Context, *bmc.Driver, *tree) string // ends by package try if it fails
}{
	{"verify", func(ctx context.Context, _ *bmc.Driver, t *tree) string {
		return try.Get(try.Get(bmc.New(t.config())).Verify(ctx)).String()
	}},
	{"power", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		for _, power := range []states.Power{states.PowerOff, states.PowerOn, states.PowerRebooting} {
			try.OK(d.SetPower(ctx, t.name, power))
			if now := try.Get(d.PowerState(ctx, t.name)); now != power.Target() {
				try.Failf("the machine is %q after %q", now, power)
			}
		}
		return "on, off, reboot"
	}},
	{"boot from disk", boots("disk", false)},
	{"boot always from disk", boots("disk", true)},
	{"boot from CD", boots("cdrom", false)},
	{"boot from the network", boots("pxe", false)},
	{"virtual CD", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		const image = "https://198.51.100.1/boot.iso"
		try.OK(d.InsertMedia(ctx, t.name, "cdrom", image))
		has := func(s bmc.VirtualMedia) bool { return s.Inserted && s.Image == image }
		slots, err := d.VirtualMedia(ctx, t.name)
		if err != nil || !slices.ContainsFunc(slots, has) {
			try.OK(errors.Join(fmt.Errorf("the image is in none of %+v", slots), err))
		}
		try.OK(d.EjectMedia(ctx, t.name, "cdrom"))
		after, err := d.VirtualMedia(ctx, t.name)
		if err != nil || slices.ContainsFunc(after, has) {
			try.OK(errors.Join(fmt.Errorf("the image is still in one of %+v", after), err))
		}
		return "yes"
	}},
	{"inspection", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		i, err := d.Inspect(ctx, t.name)
		if i.Memory.PhysicalMB == 0 || i.CPU.Count == 0 {
			err = errors.Join(fmt.Errorf("neither memory nor processors: %+v", i), err)
		}
		try.OK(err)
		return fmt.Sprintf("%d MiB, %d %s, %d disks, %d NICs", i.Memory.PhysicalMB, i.CPU.Count,
			cmp.Or(i.CPU.Architecture, "of an unknown architecture"),
			len(i.Disks), len(i.Interfaces))
	}},
	{"PCI devices", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		return fmt.Sprintf("%d functions", len(try.Get(d.PCIDevices(ctx, t.name))))
	}},
	{"BIOS", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		settings := try.Get(d.BIOS(ctx, t.name))
		typed := 0
		var chosen bmc.BIOSSetting
		for _, s := range settings {
			if s.AttributeType != "" {
				typed++
			}
			if chosen.Name == "" && s.AttributeType == "Enumeration" && len(s.AllowableValues) > 1 && (s.ReadOnly == nil || !*s.ReadOnly) {
				chosen = s
			}
		}
		read := fmt.Sprintf("%d settings, %d with a type", len(settings), typed)
		if chosen.Name == "" {
			try.Failf("%s, and none to choose", read)
		}
		i := slices.IndexFunc(chosen.AllowableValues, func(value string) bool { return value != chosen.Value })
		sent, err := d.SetBIOS(ctx, t.name, map[string]any{chosen.Name: chosen.AllowableValues[i]})
		if err != nil || !sent {
			try.OK(errors.Join(fmt.Errorf("%s is not set, sent: %t", chosen.Name, sent), err))
		}
		return read
	}},
	{"secure boot", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		before := try.Get(d.SecureBoot(ctx, t.name))
		try.OK(d.SetSecureBoot(ctx, t.name, !before))
		now, err := d.SecureBoot(ctx, t.name)
		if now == before {
			err = errors.Join(errors.New("it is not changed"), err)
		}
		try.OK(err)
		return "yes"
	}},
	{"firmware", func(ctx context.Context, d *bmc.Driver, t *tree) string {
		return fmt.Sprintf("%d versions", len(try.Get(d.Firmware(ctx, t.name))))
	}},
	{"deployment by virtual media", deploy},
}

func boots(device string, persistent bool) func(context.Context, *bmc.Driver, *tree) string {
	return func(ctx context.Context, d *bmc.Driver, t *tree) string {
		try.OK(d.SetBootDevice(ctx, t.name, device, persistent))
		now, always, err := d.BootDevice(ctx, t.name)
		try.OK(err)
		if now != device {
			try.Failf("the boot device is %q, and not %q", now, device)
		}
		if persistent && !always {
			return "set again at each start"
		}
		return "yes"
	}
}

// result is the outcome of an ability on a tree.
type result struct {
	said string
	err  error
}

func (r result) String() string {
	if r.err == nil {
		return r.said
	}
	reason := r.err
	if failed := new(verify.Error); errors.As(r.err, &failed) {
		reason = failed.Err // without the address
	}
	return "no: " + strings.ReplaceAll(reason.Error(), "\n", "; ")
}

// tryAll tries all abilities on a tree.
func tryAll(ctx context.Context, t *tree) []result {
	driver, err := bmc.NewDriver(bmc.DriverConfig{
		Lookup:   func(context.Context, string) (bmc.Config, error) { return t.config(), nil },
		Sessions: 1,
	})
	if err != nil {
		return []result{{err: err}}
	}
	defer func() { _ = driver.Close(ctx) }()
	var results []result
	for _, ability := range abilities {
		var r result
		r.err = try.Catch(func() { r.said = ability.try(ctx, driver, t) })
		results = append(results, r)
	}
	return results
}

// matrix tries all abilities on each tree, and prints the matrix, a table with a row for each ability.
func matrix(ctx context.Context, out io.Writer, trees ...*tree) {
	var names []string
	var results [][]result
	for _, t := range trees {
		names = append(names, t.name)
		results = append(results, tryAll(ctx, t))
	}
	fmt.Fprintf(out, "| | %s |\n| --- |%s\n", strings.Join(names, " | "), strings.Repeat(" --- |", len(names)))
	for i, ability := range abilities {
		row := []string{ability.name}
		for _, of := range results {
			row = append(row, of[i].String())
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
}
