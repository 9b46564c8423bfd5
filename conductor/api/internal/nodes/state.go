// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// showStates answers GET /v1/nodes/NODE/states.
func showStates(r *rest.Request) (rest.Answer, error) {
	n, err := r.NodeOf(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		for _, name := range []string{
			"console_enabled", "last_error", "power_state", "provision_state", "target_power_state",
			"target_provision_state", "provision_updated_at", "raid_config", "target_raid_config", "boot_mode", "secure_boot",
		} {
			if f := fieldsByName[name]; f.since <= r.Version {
				w.Key(name)
				f.write(w, r, n)
			}
		}
	}), nil
}

// accepted returns the response 202 to a request whose work continues. Its Location header is
// the path of the node's states.
func accepted(r *rest.Request) rest.Answer {
	return rest.Answer{Status: http.StatusAccepted, Location: "nodes/" + r.Param(0) + "/states"}
}

// setPower answers PUT /v1/nodes/NODE/states/power.
func setPower(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "target", "timeout")
	target := a.Need("target").Text("target")
	timeout, hasTimeout := a.Integer("timeout")
	n, err := r.NodeOf(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if a.Values["target"] == nil {
		target = fault.Repr(nil)
	}
	power, err := states.ParsePower(target)
	soft := power == states.PowerSoftRebooting || power == states.PowerSoftOff
	switch {
	case (soft || timeout != 0) && r.Version < since.SoftPower:
		return rest.Answer{}, fault.NotAcceptable
	case hasTimeout && timeout < 1:
		return rest.Answer{}, fault.Invalid("timeout has to be positive integer")
	case err != nil || power == states.NoPower || power == states.PowerError:
		return rest.Answer{}, fault.State(fault.Show(target), r.Param(0), fault.Power(n.Power))
	case errors.Is(r.Conductor.Rules().Power(n.Fields(), power), conductor.NotAllowed):
		return rest.Answer{}, fault.State(target, r.Param(0), n.ProvisionState.String())
	}
	if err := r.Conductor.SetPower(r.Context(), n.UUID, power, time.Duration(timeout)*time.Second); err != nil {
		return rest.Answer{}, err
	}
	return accepted(r), nil
}

// setMaintenance answers PUT /v1/nodes/NODE/maintenance.
func setMaintenance(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "reason")
	a.Text("reason")
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	return rest.Accepted, update(r, func(n *node) error {
		n.Maintenance = true
		return fieldsByName["maintenance_reason"].set(n, a.Values["reason"])
	})
}

// clearMaintenance answers DELETE /v1/nodes/NODE/maintenance.
func clearMaintenance(r *rest.Request) (rest.Answer, error) {
	if a := r.QueryArgs(); a.Err != nil {
		return rest.Answer{}, a.Err
	}
	return rest.Accepted, update(r, func(n *node) error {
		n.Maintenance = false
		return nil
	})
}

// setRAID answers PUT /v1/nodes/NODE/states/raid.
func setRAID(r *rest.Request) (rest.Answer, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	config, ok := body.(map[string]any)
	if !ok {
		return rest.Answer{}, fault.Invalid("Expected types <class 'dict'> for target_raid_config: %s", fault.Show(body))
	}
	if _, err := r.Node(r.Param(0)); err != nil {
		return rest.Answer{}, err
	}
	if r.Version < since.RAID {
		return rest.Answer{}, fault.NotAcceptable
	}
	return rest.NoContent, update(r, func(n *node) error {
		if len(config) > 0 && !hasInterface(r, n, "raid") {
			return conductor.Held(&fault.Fault{Status: http.StatusNotFound, Text: unsupported(n, "raid")})
		}
		n.TargetRAIDConfig = config
		return conductor.Held(checkRAID(config))
	})
}

// checkRAID refuses an invalid RAID configuration. An empty one is valid: it removes the
// configuration.
//
// Source: ironic/common/raid.py.
func checkRAID(config map[string]any) error {
	if len(config) == 0 {
		return nil
	}
	if text, _, refused := raidSchema.Refusal(config); refused {
		return fault.Invalid("RAID config validation error: %s", text)
	}
	roots := 0
	for _, disk := range config["logical_disks"].([]any) {
		if disk.(map[string]any)["is_root_volume"] == true {
			roots++
		}
	}
	if roots > 1 {
		return fault.Invalid("Raid config cannot have more than one root volume. %d root volumes were specified", roots)
	}
	return nil
}

// hasInterface reports whether a node has a hardware interface of the kind other than "no-KIND".
func hasInterface(r *rest.Request, n *node, kind string) bool {
	name := r.InterfaceOf(n, kind)
	return name != "" && name != "no-"+kind
}

func unsupported(n *node, feature string) string {
	return "Driver " + n.Driver + " does not support " + feature + " (disabled or not implemented)."
}

// bootModes are the boot modes. Source: ironic/common/boot_modes.py.
var bootModes = []string{"bios", "uefi"}

// setBootMode answers PUT /v1/nodes/NODE/states/boot_mode. A failure is the node's last error.
func setBootMode(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "target")
	target := a.Need("target").Text("target")
	var wrong error
	if !slices.Contains(bootModes, target) {
		wrong = fault.Invalid("Invalid boot mode %s requested for node. Allowed boot modes are: bios, uefi", fault.Show(a.Values["target"]))
	}
	return setBoot(r, a, wrong, func(n *node) error { return r.Conductor.Management(n.UUID).SetBootMode(r.Context(), target) })
}

func setSecureBoot(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "target")
	target := a.Need("target").Boolean("target")
	var wrong error
	if target == nil {
		wrong = fault.Invalid("Invalid secure_boot None requested for node. Allowed secure_boot states are: True, False) ")
	}
	return setBoot(r, a, wrong, func(n *node) error { return r.Conductor.Management(n.UUID).SetSecureBoot(r.Context(), *target) })
}

// setBoot answers a request to change the boot mode or secure boot. It checks the arguments and the target first.
func setBoot(r *rest.Request, a *rest.Args, wrong error, set func(*node) error) (rest.Answer, error) {
	n, err := r.NodeOf(a)
	switch {
	case err != nil:
		return rest.Answer{}, err
	case r.Version < since.SetBootMode:
		return rest.Answer{}, fault.NotFound("This endpoint is supported starting with the API version %v", since.SetBootMode)
	case wrong != nil:
		return rest.Answer{}, wrong
	case errors.Is(r.Conductor.Rules().Boot(n.Fields()), conductor.WrongState):
		return rest.Answer{}, fault.Conflict("Node is in %s state. Since node is transitioning, the boot mode will not be set as this may interfere with ongoing changes and result in erroneous modification. Try again later.", n.ProvisionState)
	}
	return accepted(r), hardwareFault(set(n))
}

// showConsole answers GET /v1/nodes/NODE/states/console.
func showConsole(r *rest.Request) (rest.Answer, error) {
	n, err := r.NodeOf(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("console_enabled").Boolean(n.ConsoleEnabled)
		w.Key("console_info")
		if n.ConsoleEnabled {
			w.Object(nil)
		} else {
			w.Null()
		}
	}), nil
}

// setConsole answers PUT /v1/nodes/NODE/states/console. The console of fake-hardware
// does nothing; no other hardware type has one.
func setConsole(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "enabled")
	enabled := a.Need("enabled").Boolean("enabled")
	n, err := r.NodeOf(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if !hasInterface(r, n, "console") {
		return rest.Answer{}, fault.Invalid("%s", unsupported(n, "console"))
	}
	// As in Ironic, null is a change in any case. It switches the console off.
	if want := enabled != nil && *enabled; enabled == nil || want != n.ConsoleEnabled {
		err = update(r, func(n *node) error {
			n.ConsoleEnabled, n.LastError = want, ""
			return nil
		})
	}
	return rest.Answer{Status: http.StatusAccepted, Location: "nodes/" + r.Param(0) + "/states/console"}, err
}

// validate answers GET /v1/nodes/NODE/validate, and ...?node=NODE without NODE in
// the path.
func validate(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("node", "node_uuid")
	ident := a.Ident("node")
	if uuid := a.UUID("node_uuid"); uuid != "" {
		ident = uuid
	}
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	switch {
	case ident == "":
		return rest.Answer{}, fault.Invalid("Expected a logical name or UUID but received None.")
	case !rest.IsUUID(ident) && r.Version < since.Names:
		return rest.Answer{}, fault.NotAcceptable
	}
	n, err := r.Node(ident)
	if err != nil {
		return rest.Answer{}, err
	}
	results, err := r.Conductor.Validate(r.Context(), n.UUID)
	if err != nil && !errors.Is(err, conductor.Invalid) {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		for _, kind := range validatedKinds {
			result, ok := results[kind]
			if !ok || kind == "firmware" && r.Highest < since.Firmware {
				continue
			}
			w.Key(kind).Open()
			w.Key("result").Boolean(result == nil)
			if result != nil {
				w.Key("reason").Text(result.Error())
			}
			w.Close()
		}
	}), nil
}

// validatedKinds are the kinds of hardware interfaces in the response to a validation, in
// Ironic's order.
var validatedKinds = []string{
	"boot", "deploy", "management", "network", "power", "bios", "console", "inspect", "raid", "rescue", "storage",
	"firmware", "vendor",
}
