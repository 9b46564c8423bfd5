// SPDX-License-Identifier: Apache-2.0

// Vendors serves recorded Redfish trees of real BMCs, tries on each what package bmc can do, deploys an image on it,
// and prints the matrix:
//
//	go run ./e2e/vendors -trees FOLDER
//
// FOLDER has a folder for each BMC, or an archive trees.tar.xz of them, which tar unpacks, or is the folder of one BMC.
// In a BMC's folder the file redfish/v1/Systems/1/index.json is the resource at /redfish/v1/Systems/1. The trees are
// not part of this repository. Anyone can record a BMC:
//
//	BMC_PASSWORD=... go run ./e2e/vendors -record FOLDER -redfish https://10.1.2.3 -user NAME
//
// This reads every resource of the BMC, changes nothing on it, and writes what it has read to the folder, with
// stand-ins for values that identify the machine, its owner or its users.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("vendors", run) }

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("vendors", flag.ContinueOnError)
	folder := flags.String("trees", os.Getenv("IRONSTATE_VENDORS"),
		"`folder` with the recorded trees; required, unless the environment variable IRONSTATE_VENDORS has it")
	c := recording{password: os.Getenv("BMC_PASSWORD")}
	flags.StringVar(&c.folder, "record", "", "`folder` to record a BMC into, which must be empty or new")
	flags.StringVar(&c.url, "redfish", "", "`URL` of the BMC to record, such as https://10.1.2.3")
	flags.StringVar(&c.user, "user", "", "`name` of a user of the BMC; the password is in $BMC_PASSWORD")
	flags.BoolVar(&c.unverified, "insecure", false, "do not verify the BMC's certificate: whoever is on the way can read the password")
	flags.Func("ca", "PEM `file` with the authorities that may sign the BMC's certificate", func(file string) error {
		text, err := os.ReadFile(file)
		c.authorities = x509.NewCertPool()
		if err == nil && !c.authorities.AppendCertsFromPEM(text) {
			err = errors.New("no certificate in PEM")
		}
		return err
	})
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if c.folder != "" || c.url != "" {
		return c.record(ctx, out, errOut)
	}
	if *folder == "" {
		return program.Usagef("-trees is missing: want the folder with the recorded trees")
	}
	trees, done, err := open(ctx, *folder)
	defer done()
	if err != nil {
		return err
	}
	matrix(ctx, out, trees...)
	return nil
}

// open serves all trees of a folder until done is called, also after an error.
func open(ctx context.Context, folder string) (trees []*tree, done func(), err error) {
	unpacked := ""
	done = func() {
		for _, t := range trees {
			t.server.Close()
		}
		if unpacked != "" {
			_ = os.RemoveAll(unpacked)
		}
	}
	archive := filepath.Join(folder, "trees.tar.xz")
	if _, err := os.Stat(archive); !errors.Is(err, fs.ErrNotExist) {
		if unpacked, err = os.MkdirTemp("", "vendors"); err != nil {
			return nil, done, err
		}
		if text, err := exec.CommandContext(ctx, "tar", "-xJf", archive, "-C", unpacked).CombinedOutput(); err != nil {
			return nil, done, fmt.Errorf("unpack %s: %w: %s", archive, err, text)
		}
		folder = unpacked
	}
	if _, err := os.Stat(filepath.Join(folder, "redfish", "v1", "index.json")); err == nil {
		t, err := serve(folder)
		if err == nil {
			trees = []*tree{t}
		}
		return trees, done, err
	}
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		t, err := serve(filepath.Join(folder, entry.Name()))
		if err != nil {
			return trees, done, err
		}
		trees = append(trees, t)
	}
	return trees, done, err
}
