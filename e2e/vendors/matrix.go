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

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// abilities are the operations of package bmc on a BMC. Each reports the values that it has read or changed, or why it
// has failed.
var abilities = []struct {
	name string
	try  func(context.Context, *bmc.Driver, *tree) (string, error)
}{
	{"verify", func(ctx context.Context, _ *bmc.Driver, t *tree) (string, error) {
		v, err := bmc.New(t.config())
		if err != nil {
			return "", err
		}
		power, err := v.Verify(ctx)
		return power.String(), err
	}},
	{"power", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		for _, power := range []states.Power{states.PowerOff, states.PowerOn, states.PowerRebooting} {
			if err := d.SetPower(ctx, t.name, power); err != nil {
				return "", err
			}
			now, err := d.PowerState(ctx, t.name)
			if err != nil {
				return "", err
			}
			if want := cmp.Or(map[states.Power]states.Power{states.PowerRebooting: states.PowerOn}[power], power); now != want {
				return "", fmt.Errorf("the machine is %q after %q", now, power)
			}
		}
		return "on, off, reboot", nil
	}},
	{"boot from disk", boots("disk", false)},
	{"boot always from disk", boots("disk", true)},
	{"boot from CD", boots("cdrom", false)},
	{"boot from the network", boots("pxe", false)},
	{"virtual CD", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		const image = "https://198.51.100.1/boot.iso"
		if err := d.InsertMedia(ctx, t.name, "cdrom", image); err != nil {
			return "", err
		}
		has := func(s bmc.VirtualMedia) bool { return s.Inserted && s.Image == image }
		slots, err := d.VirtualMedia(ctx, t.name)
		if err != nil || !slices.ContainsFunc(slots, has) {
			return "", errors.Join(fmt.Errorf("the image is in none of %+v", slots), err)
		}
		if err := d.EjectMedia(ctx, t.name, "cdrom"); err != nil {
			return "", err
		}
		after, err := d.VirtualMedia(ctx, t.name)
		if err != nil || slices.ContainsFunc(after, has) {
			return "", errors.Join(fmt.Errorf("the image is still in one of %+v", after), err)
		}
		return "yes", nil
	}},
	{"inspection", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		i, err := d.Inspect(ctx, t.name)
		if i.Memory.PhysicalMB == 0 || i.CPU.Count == 0 {
			return "", errors.Join(fmt.Errorf("neither memory nor processors: %+v", i), err)
		}
		return fmt.Sprintf("%d MiB, %d %s, %d disks, %d NICs", i.Memory.PhysicalMB, i.CPU.Count,
			cmp.Or(i.CPU.Architecture, "of an unknown architecture"),
			len(i.Disks), len(i.Interfaces)), err
	}},
	{"PCI devices", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		found, err := d.PCIDevices(ctx, t.name)
		return fmt.Sprintf("%d functions", len(found)), err
	}},
	{"BIOS", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		settings, err := d.BIOS(ctx, t.name)
		if err != nil {
			return "", err
		}
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
			return read, errors.New(read + ", and none to choose")
		}
		i := slices.IndexFunc(chosen.AllowableValues, func(value string) bool { return value != chosen.Value })
		sent, err := d.SetBIOS(ctx, t.name, map[string]any{chosen.Name: chosen.AllowableValues[i]})
		if err != nil || !sent {
			return "", errors.Join(fmt.Errorf("%s is not set, sent: %t", chosen.Name, sent), err)
		}
		return read, nil
	}},
	{"secure boot", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		before, err := d.SecureBoot(ctx, t.name)
		if err != nil {
			return "", err
		}
		if err := d.SetSecureBoot(ctx, t.name, !before); err != nil {
			return "", err
		}
		now, err := d.SecureBoot(ctx, t.name)
		if now == before {
			return "", errors.Join(errors.New("it is not changed"), err)
		}
		return "yes", err
	}},
	{"firmware", func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		components, err := d.Firmware(ctx, t.name)
		return fmt.Sprintf("%d versions", len(components)), err
	}},
	{"deployment by virtual media", deploy},
}

func boots(device string, persistent bool) func(context.Context, *bmc.Driver, *tree) (string, error) {
	return func(ctx context.Context, d *bmc.Driver, t *tree) (string, error) {
		if err := d.SetBootDevice(ctx, t.name, device, persistent); err != nil {
			return "", err
		}
		now, always, err := d.BootDevice(ctx, t.name)
		switch {
		case err != nil:
			return "", err
		case now != device:
			return "", fmt.Errorf("the boot device is %q, and not %q", now, device)
		case persistent && !always:
			return "set again at each start", nil
		default:
			return "yes", nil
		}
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

// try tries all abilities on a tree.
func try(ctx context.Context, t *tree) []result {
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
		said, err := ability.try(ctx, driver, t)
		results = append(results, result{said, err})
	}
	return results
}

// matrix tries all abilities on each tree, and prints the matrix, a table with a row for each ability.
func matrix(ctx context.Context, out io.Writer, trees ...*tree) {
	var names []string
	var results [][]result
	for _, t := range trees {
		names = append(names, t.name)
		results = append(results, try(ctx, t))
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
