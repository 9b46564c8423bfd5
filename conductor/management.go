// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Management is a [Hardware] whose management interface does more than set the boot device. What a
// hardware type does not support of it is an error that matches [Unsupported].
//
// Source: ManagementInterface in ironic/drivers/base.py.
type Management interface {
	// InjectNMI sends the machine a non-maskable interrupt.
	InjectNMI(ctx context.Context, n *Node) error
	// SetBootMode sets how the machine boots, "uefi" or "bios".
	SetBootMode(ctx context.Context, n *Node, mode string) error
	// SetSecureBoot enables or disables UEFI secure boot.
	SetSecureBoot(ctx context.Context, n *Node, enabled bool) error
	// VirtualMedia reads the machine's slots of virtual media.
	VirtualMedia(ctx context.Context, n *Node) ([]VirtualMedia, error)
	// AttachVirtualMedia inserts the image at a URL into a slot for a device: "cdrom", "disk"
	// or "floppy". The machine's BMC loads the image.
	AttachVirtualMedia(ctx context.Context, n *Node, device, image string) error
	// DetachVirtualMedia ejects the images of all slots for some devices, nothing if none is given.
	DetachVirtualMedia(ctx context.Context, n *Node, devices []string) error
}

// VirtualMedia is a slot of virtual media.
type VirtualMedia struct {
	Image      string   `json:"image"`
	Inserted   bool     `json:"inserted"`
	MediaTypes []string `json:"media_types"`
}

// NodeManagement does for clients what a node's [Management] and [IndicatorReader] can do. [Conductor.Management]
// returns it.
type NodeManagement struct {
	conductor *Conductor
	ident     string
}

// Management returns the management functions of a node, by its UUID or its name.
func (c *Conductor) Management(ident string) NodeManagement { return NodeManagement{c, ident} }

// InjectNMI sends a node's machine a non-maskable interrupt. The error matches [NotFound],
// [Locked] or [Unsupported], or is a [*HardwareError] or the store's.
func (m NodeManagement) InjectNMI(ctx context.Context) error {
	_, err := dispatch(ctx, m.conductor, m.ident, nmiRequest{})
	return err
}

type nmiRequest struct{}

func (nmiRequest) method() string { return "inject nmi" }

func (nmiRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	inject := func(by Management, ctx context.Context, n *Node) (none, error) { return none{}, by.InjectNMI(ctx, n) }
	return withInterface(ctx, c.engine.exclusively, ident, function{name: "inject_nmi"}, inject)
}

// VirtualMedia reads a node's slots of virtual media; it fails as [NodeManagement.InjectNMI] does, but with [Invalid]
// if no conductor serves the node. Since 2026.1 it may also be called for a node that is reserved.
func (m NodeManagement) VirtualMedia(ctx context.Context) ([]VirtualMedia, error) {
	media, err := dispatch(ctx, m.conductor, m.ident, mediaRequest{})
	return media, invalidWithoutConductor(err)
}

type mediaRequest struct{}

func (mediaRequest) method() string { return "virtual media" }

func (mediaRequest) here(ctx context.Context, c *Conductor, ident string) ([]VirtualMedia, error) {
	read := c.engine.shared
	if c.config.Table.Series() < states.Gazpacho {
		read = c.engine.exclusively
	}
	return withInterface(ctx, read, ident, function{name: "get_virtual_media", limit: slowCallTimeout}, Management.VirtualMedia)
}

// AttachVirtualMedia inserts the image at a URL into a slot of a node for a device. A failure is the
// node's LastError, as in Ironic. AttachVirtualMedia returns when that is stored, and after 30 s or the end of ctx at
// the latest: then the work goes on, for 20 minutes at most. The source says who loads the image; only "http" is
// supported, the BMC, for which "" stands too. The error matches [NotFound], [Locked] or [Invalid], or
// since 2025.2 [InMaintenance] for a node with a power failure, is the store's, or the context's.
func (m NodeManagement) AttachVirtualMedia(ctx context.Context, device, image, source string) error {
	_, err := dispatch(ctx, m.conductor, m.ident, attachMediaRequest{device, image, source})
	return invalidWithoutConductor(err)
}

type attachMediaRequest struct{ Device, Image, Source string }

func (attachMediaRequest) method() string { return "attach virtual media" }

func (r attachMediaRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	attach := func(ctx context.Context, by Management, n *Node) error {
		if r.Source != "" && r.Source != "http" {
			return fmt.Errorf("image_download_source %s is not supported: only http is, with which the BMC loads the image itself", r.Source)
		}
		return by.AttachVirtualMedia(ctx, n, r.Device, r.Image)
	}
	permit := func(n *Node) error { return c.rules.permitsMedia(n, "attach") }
	return none{}, c.engine.manage(ctx, ident, "virtual media", permit, attach, func(n *Node, err error) string {
		n.LastError = ""
		if err != nil {
			n.LastError = "Could not attach device " + r.Device + " to node " + n.UUID + ": " + err.Error()
		}
		return n.LastError
	})
}

// DetachVirtualMedia ejects the images of a node's slots for some devices; nil stands for all. It fails as
// [NodeManagement.AttachVirtualMedia] does.
func (m NodeManagement) DetachVirtualMedia(ctx context.Context, devices []string) error {
	_, err := dispatch(ctx, m.conductor, m.ident, detachMediaRequest(devices))
	return invalidWithoutConductor(err)
}

// detachMediaRequest has the devices; nil stands for all.
type detachMediaRequest []string

func (detachMediaRequest) method() string { return "detach virtual media" }

func (devices detachMediaRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	detach := func(ctx context.Context, by Management, n *Node) error {
		if devices == nil {
			return by.DetachVirtualMedia(ctx, n, []string{"disk", "cdrom", "floppy"})
		}
		return by.DetachVirtualMedia(ctx, n, devices)
	}
	permit := func(n *Node) error { return c.rules.permitsMedia(n, "detach") }
	return none{}, c.engine.manage(ctx, ident, "detach_virtual_media", permit, detach, func(n *Node, err error) string {
		n.LastError = ""
		if err != nil {
			list := "None"
			if devices != nil {
				list = pyrepr.List(devices)
			}
			n.LastError = "Could not detach device(s) " + list + " from node " + n.UUID + ": " + err.Error()
		}
		return n.LastError
	})
}

// SetBootMode sets how a node's machine boots, "uefi" or "bios", and records it. It fails as
// [NodeManagement.AttachVirtualMedia] does, but also serves a node with a power failure, and fails with [NotFound] if
// no conductor serves the node.
//
// Source: node_change_boot_mode in ironic/conductor/utils.py.
func (m NodeManagement) SetBootMode(ctx context.Context, mode string) error {
	_, err := dispatch(ctx, m.conductor, m.ident, bootModeRequest(mode))
	return err
}

type bootModeRequest string

func (bootModeRequest) method() string { return "set boot mode" }

func (r bootModeRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	mode := string(r)
	set := func(ctx context.Context, by Management, n *Node) error { return by.SetBootMode(ctx, n, mode) }
	return none{}, c.engine.manage(ctx, ident, "set_boot_mode", nil, set, func(n *Node, err error) string {
		if err != nil {
			n.LastError = "Failed to change boot mode to '" + mode + ": " + err.Error()
		} else {
			n.LastError, n.BootMode = "", mode
		}
		return ""
	})
}

// SetSecureBoot enables or disables a node's UEFI secure boot, and records it. It fails as
// [NodeManagement.AttachVirtualMedia] does, but also serves a node with a power failure, and fails with [NotFound] if
// no conductor serves the node.
//
// Source: node_change_secure_boot in ironic/conductor/utils.py.
func (m NodeManagement) SetSecureBoot(ctx context.Context, enabled bool) error {
	_, err := dispatch(ctx, m.conductor, m.ident, secureBootRequest(enabled))
	return err
}

type secureBootRequest bool

func (secureBootRequest) method() string { return "set secure boot" }

func (r secureBootRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	enabled := bool(r)
	set := func(ctx context.Context, by Management, n *Node) error { return by.SetSecureBoot(ctx, n, enabled) }
	return none{}, c.engine.manage(ctx, ident, "set_secure_boot_state", nil, set, func(n *Node, err error) string {
		if err != nil {
			word := map[bool]string{true: "True", false: "False"}[enabled]
			n.LastError = "Failed to change secure_boot state to '" + word + "': " + err.Error()
		} else {
			n.LastError, n.SecureBoot = "", &enabled
		}
		return ""
	})
}

// permitsMedia refuses a change of virtual media for a node in maintenance after a power failure, whose BMC does not
// answer.
//
// Source: bug 2121118 of Ironic, and attach_virtual_media in ironic/conductor/manager.py since 32.0.0.
func (b *rulebook) permitsMedia(n *Node, verb string) error {
	if !n.Maintenance || n.Fault != powersync.FaultPowerFailure || b.config.Table.Series() < states.Flamingo {
		return nil
	}
	refusal := refuse(InMaintenance, "Unable to %s virtual media for node %s due to power failure state", verb, n.UUID)
	refusal.status = http.StatusServiceUnavailable
	return Held(refusal)
}

// manage reserves a node, unless permit refuses that, which may be nil, calls do, and stores its result with record,
// which returns the event of an entry in the node's history, or "" for none. While the caller waits, an error of do
// that matches Invalid is returned instead. A hardware type without the function fails. If do takes longer than
// actionWait, or than the caller waits, it continues after manage has returned.
//
// Source: run_node_action in ironic/conductor/utils.py.
func (e *engine) manage(
	ctx context.Context, ident, function string, permit func(*Node) error,
	do func(context.Context, Management, *Node) error, record func(*Node, error) string,
) error {
	var s *session
	var n *Node
	var hardware Hardware
	err := e.fleet.retryLocked(ctx, func() (err error) {
		s, n, err = e.take(ctx, ident, func(n *Node) (err error) {
			if hardware, err = e.types.of(n); err == nil && permit != nil {
				err = permit(n)
			}
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	act := func(ctx context.Context) (func(*Node), error) {
		by, ok := hardware.(Management)
		if !ok {
			return nil, unsupported(n, function)
		}
		return nil, do(ctx, by, n)
	}
	var settled atomic.Bool // whether the caller's answer is settled before the result is stored
	done := make(chan error, 1)
	s.run.group.Go(func() {
		_, err := e.callReserved(context.WithoutCancel(ctx), s, n, function, actionTimeout, act)
		if !errors.Is(err, Invalid) || !settled.CompareAndSwap(false, true) {
			err = e.noteManaged(s, n, err, record) // not in act, which may return when other work has the node
		}
		_ = e.unreserve(s.ctx, s, n.UUID, nil)
		e.pool.Free(n.UUID)
		done <- err
	})
	wait, cancel := context.WithTimeout(ctx, actionWait)
	defer cancel()
	select {
	case err := <-done:
		return err
	case <-wait.Done():
		if !settled.CompareAndSwap(false, true) {
			return <-done
		}
		return ctx.Err()
	}
}

// noteManaged stores the result of an operation of manage.
func (e *engine) noteManaged(s *session, n *Node, failure error, record func(*Node, error) string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), reportTimeout)
	defer cancel()
	if failure != nil && s.ctx.Err() != nil {
		failure = context.Cause(s.ctx) // the text of noMember is for the client
	}
	var event string
	_, _, err := e.fleet.edit(ctx, n.UUID, func(n *Node) error {
		if n.Claim != s.id { // another process has taken the node over
			return errLost
		}
		event = record(n, failure)
		return nil
	})
	switch {
	case err == nil:
		e.history.add(ctx, n, "ERROR", event, "UNKNOWN")
	case s.ctx.Err() != nil:
		return e.sessions.noMember()
	}
	return err
}

const (
	// actionWait is how long a caller waits for the result of manage. It is less than forwardTimeout, for which
	// another conductor waits.
	actionWait = 30 * time.Second
	// actionTimeout bounds what manage does. Some BMCs change a boot mode or secure boot in a boot of the machine, for
	// which [redfish]boot_mode_config_timeout of Ironic gives 15 minutes.
	actionTimeout = 20 * time.Minute
)

// Indicator is a light of a machine.
//
// Source: get_supported_indicators in ironic/drivers/base.py.
type Indicator struct {
	Component string   `json:"component"` // "chassis" or "system", for instance
	Name      string   `json:"name"`      // unique in the component
	ReadOnly  bool     `json:"read_only,omitzero"`
	States    []string `json:"states"` // "on", "off", "blinking"
}

// IndicatorReader is implemented by a [Hardware] whose machines have indicators.
type IndicatorReader interface {
	// Indicators returns the indicators of a node.
	Indicators(ctx context.Context, n *Node) ([]Indicator, error)
	// IndicatorState reads the state of an indicator. The error matches Invalid if the node
	// has no such component or indicator.
	IndicatorState(ctx context.Context, n *Node, component, name string) (string, error)
}

// Indicators returns the indicators of the node. The error matches [NotFound] or [Unsupported], or is
// a [*HardwareError] or the store's.
func (m NodeManagement) Indicators(ctx context.Context) ([]Indicator, error) {
	return dispatch(ctx, m.conductor, m.ident, indicatorsRequest{})
}

type indicatorsRequest struct{}

func (indicatorsRequest) method() string { return "indicators" }

func (indicatorsRequest) here(ctx context.Context, c *Conductor, ident string) ([]Indicator, error) {
	return withInterface(ctx, c.engine.shared, ident, function{name: "get_supported_indicators"}, IndicatorReader.Indicators)
}

// IndicatorState reads the state of an indicator, such as "on". The error matches [NotFound],
// [Locked], [Unsupported] or [Invalid], or is a [*HardwareError] or the store's.
func (m NodeManagement) IndicatorState(ctx context.Context, component, name string) (string, error) {
	return dispatch(ctx, m.conductor, m.ident, indicatorRequest{component, name})
}

type indicatorRequest struct{ Component, Name string }

func (indicatorRequest) method() string { return "indicator state" }

func (r indicatorRequest) here(ctx context.Context, c *Conductor, ident string) (string, error) {
	read := func(by IndicatorReader, ctx context.Context, n *Node) (string, error) {
		return by.IndicatorState(ctx, n, r.Component, r.Name)
	}
	return withInterface(ctx, c.engine.exclusively, ident, function{name: "get_indicator_state"}, read)
}
