// SPDX-License-Identifier: Apache-2.0

package hardwaretest_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
)

const image = "http://images.example/a.iso"

// withCD is fake-hardware with a slot for a CD. A part of it may be broken.
type withCD struct {
	managed
	broken   string
	inserted atomic.Pointer[string] // nil if the slot is empty
}

var errNone = &conductor.Error{Reason: conductor.Unsupported, Text: "no virtual media"}

func (c *withCD) VirtualMedia(ctx context.Context, n *conductor.Node) ([]conductor.VirtualMedia, error) {
	if c.broken == "none" {
		return nil, errNone
	}
	if _, err := c.managed.VirtualMedia(ctx, n); err != nil {
		return nil, err
	}
	s := conductor.VirtualMedia{MediaTypes: []string{"CD"}}
	if now := c.inserted.Load(); now != nil && c.broken != "hidden" {
		s.Inserted, s.Image = true, *now
	}
	return []conductor.VirtualMedia{s}, nil
}

func (c *withCD) AttachVirtualMedia(ctx context.Context, n *conductor.Node, device, image string) error {
	refused := device != "cdrom"
	switch {
	case refused && c.broken == "any device":
		return nil
	case refused && c.broken != "sends":
		return &conductor.Error{Reason: conductor.Invalid, Text: "no such device"}
	case c.broken == "no CD":
		return errNone
	}
	if err := c.managed.AttachVirtualMedia(ctx, n, device, image); err != nil {
		return err
	}
	if refused {
		return errors.New("no such device")
	}
	c.inserted.Store(&image)
	return nil
}

func (c *withCD) DetachVirtualMedia(ctx context.Context, n *conductor.Node, devices []string) error {
	if err := c.managed.DetachVirtualMedia(ctx, n, devices); err != nil {
		return err
	}
	switch {
	case c.broken == "strict" && c.inserted.Load() == nil:
		return errors.New("the slot is empty")
	case c.broken != "keeps" && slices.Contains(devices, "cdrom"):
		c.inserted.Store(nil)
	}
	return nil
}

func TestAnImageIsInsertedAndEjected(t *testing.T) {
	const promise = "an image that is inserted is shown until it is ejected: "
	for broken, want := range map[string]string{
		"": "", "none": "", "no CD": "",
		"any device": promise + "the image is inserted for the device hardwaretest",
		"sends":      promise + "a refused device sent a request",
		"strict":     promise + "eject what is in the slot: the slot is empty",
		"hidden":     promise + "the image is not shown as inserted within 1m0s",
		"keeps":      promise + "the image is not shown as ejected within 1m0s",
	} {
		t.Run(broken, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f := newFake()
				hardware := &withCD{managed: managed{Fake: f}, broken: broken}
				c.Hardware, c.Image = hardware, image
				err := hardwaretest.Check(c)
				if want == "" {
					require.NoError(t, err)
					require.Nil(t, hardware.inserted.Load())
				} else {
					require.ErrorContains(t, err, want)
				}
			})
		})
	}
}
