// SPDX-License-Identifier: Apache-2.0

package hardwaretest

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

// checkMedia inserts the image as a CD, and ejects it. A device that does not exist is refused.
func (t *tester) checkMedia(ctx context.Context) {
	by, ok := t.Hardware.(conductor.Management)
	if !ok || t.Image == "" {
		return
	}
	_, err := by.VirtualMedia(ctx, t.node.Clone())
	if errors.Is(err, conductor.Unsupported) {
		return
	}
	try.OK(err)
	before := t.Changes()
	if by.AttachVirtualMedia(ctx, t.node.Clone(), "hardwaretest", t.Image) == nil {
		try.Failf("the image is inserted for the device hardwaretest")
	}
	if t.Changes() != before {
		try.Failf("a refused device sent a request")
	}
	eject := func() error { return by.DetachVirtualMedia(ctx, t.node.Clone(), []string{"cdrom"}) }
	try.OKf(eject(), "eject what is in the slot")
	err = by.AttachVirtualMedia(ctx, t.node.Clone(), "cdrom", t.Image)
	if errors.Is(err, conductor.Unsupported) {
		return // no slot takes a CD
	}
	try.OKf(err, "insert the image")
	t.awaitImage(ctx, by, true)
	try.OKf(eject(), "eject the image")
	t.awaitImage(ctx, by, false)
	try.OKf(eject(), "eject nothing")
}

// awaitImage waits until the machine shows the image as inserted, or does not: a BMC may answer before it has loaded an
// image.
func (t *tester) awaitImage(ctx context.Context, by conductor.Management, want bool) {
	for {
		slots, err := by.VirtualMedia(ctx, t.node.Clone())
		switch {
		case ctx.Err() != nil:
			try.Failf("the image is not shown as %s within %v", map[bool]string{true: "inserted", false: "ejected"}[want], patience)
		case err != nil:
			try.OKf(err, "read the virtual media")
		case slices.ContainsFunc(slots, t.hasImage) == want:
			return
		}
		time.Sleep(poll)
	}
}

// hasImage reports whether a slot for CDs, or one that does not tell its media, has the image. Some BMCs show only the
// name of an image, and some none.
func (t *tester) hasImage(s conductor.VirtualMedia) bool {
	takes := len(s.MediaTypes) == 0 || slices.Contains(s.MediaTypes, "CD") || slices.Contains(s.MediaTypes, "DVD")
	return takes && s.Inserted && (s.Image == "" || path.Base(s.Image) == path.Base(t.Image))
}
