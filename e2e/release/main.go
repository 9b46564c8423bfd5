// SPDX-License-Identifier: Apache-2.0

// Release makes a clone of the repository in which every module that others import or
// install has a tag of one version, and can be fetched by it:
//
//	go run ./e2e/release v0.1.0 DIR
//
// Run it from the repository's root; it releases the commit HEAD. In the empty folder DIR
// the branch main has up to two more commits. The first one dates the section of CHANGELOG.md,
// and removes from the Markdown files the texts, between marks, that hold until the first release. The
// other one is the release commit: each requirement of our modules on one another has the
// version, and published modules have no replace lines. The tags are on this commit: v0.1.0,
// verify/bmc/v0.1.0 and so on. Nothing is pushed.
//
// A changelog whose first section is not the version's, or has no date, and a text that
// still says that nothing is released, are errors.
//
// The go.sum lines for our own modules are those that the go command computes when it
// fetches the modules from the tags in DIR.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("release", run) }

func run(ctx context.Context, args []string, out, _ io.Writer) error {
	if len(args) != 2 {
		return program.Usagef("%d arguments, want VERSION DIR", len(args))
	}
	tags, err := release(ctx, ".", args[0], args[1])
	if err != nil {
		return err
	}
	for _, tag := range tags {
		fmt.Fprintln(out, tag)
	}
	return nil
}
