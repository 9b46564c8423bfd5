package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// showStates answers GET /v1/nodes/NODE/states.
func showStates(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	w := newWriter(512)
	w.open()
	for _, name := range []string{
		"console_enabled", "last_error", "power_state", "provision_state", "target_power_state",
		"target_provision_state", "provision_updated_at", "raid_config", "target_raid_config", "boot_mode", "secure_boot",
	} {
		if f := nodeFieldsByName[name]; f.since <= r.version {
			w.key(name)
			f.write(w, r, n)
		}
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// accepted returns the response 202 to a request whose work continues. Its Location header is
// the path of the node's states.
func (r *request) accepted() answer {
	return answer{status: http.StatusAccepted, location: "nodes/" + r.param(0) + "/states"}
}

// setPower answers PUT /v1/nodes/NODE/states/power.
func setPower(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "target", "timeout")
	target := a.need("target").text("target")
	timeout, hasTimeout := a.integer("timeout")
	if a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if a.values["target"] == nil {
		target = repr(nil)
	}
	power, err := states.ParsePower(target)
	soft := power == states.PowerSoftRebooting || power == states.PowerSoftOff
	switch {
	case (soft || timeout != 0) && r.version < since.SoftPower:
		return answer{}, errNotAcceptable
	case hasTimeout && timeout < 1:
		return answer{}, invalid("timeout has to be positive integer")
	case err != nil || power == states.NoPower || power == states.PowerError:
		return answer{}, stateFault(show(target), r.param(0), pythonPower(n.Power))
	case errors.Is(r.conductor.Rules().Power(n.Fields(), power), conductor.NotAllowed):
		return answer{}, stateFault(target, r.param(0), n.ProvisionState.String())
	}
	if err := r.conductor.SetPower(r.Context(), n.UUID, power, time.Duration(timeout)*time.Second); err != nil {
		return answer{}, err
	}
	return r.accepted(), nil
}

// setMaintenance answers PUT /v1/nodes/NODE/maintenance.
func setMaintenance(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "reason")
	a.text("reason")
	if a.err != nil {
		return answer{}, a.err
	}
	return answer{status: http.StatusAccepted}, r.updateNode(func(n *node) error {
		n.Maintenance = true
		return nodeFieldsByName["maintenance_reason"].set(n, a.values["reason"])
	})
}

// clearMaintenance answers DELETE /v1/nodes/NODE/maintenance.
func clearMaintenance(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	return answer{status: http.StatusAccepted}, r.updateNode(func(n *node) error {
		n.Maintenance = false
		return nil
	})
}

// setRAID answers PUT /v1/nodes/NODE/states/raid.
func setRAID(r *request) (answer, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	config, ok := body.(map[string]any)
	if !ok {
		return answer{}, invalid("Expected types <class 'dict'> for target_raid_config: %s", show(body))
	}
	if _, err := r.node(r.param(0)); err != nil {
		return answer{}, err
	}
	if r.version < since.RAID {
		return answer{}, errNotAcceptable
	}
	return answer{status: http.StatusNoContent}, r.updateNode(func(n *node) error {
		if !r.hasInterface(n, "raid") {
			return conductor.Held(&fault{status: http.StatusNotFound, text: unsupported(n, "raid")})
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
	if text, _, refused := raidSchema.refusal(config); refused {
		return invalid("RAID config validation error: %s", text)
	}
	roots := 0
	for _, disk := range config["logical_disks"].([]any) {
		if disk.(map[string]any)["is_root_volume"] == true {
			roots++
		}
	}
	if roots > 1 {
		return invalid("Raid config cannot have more than one root volume. %d root volumes were specified", roots)
	}
	return nil
}

// hasInterface reports whether a node has a hardware interface of the kind other than "no-KIND".
func (r *request) hasInterface(n *node, kind string) bool {
	name := r.interfaceOf(n, kind)
	return name != "" && name != "no-"+kind
}

func unsupported(n *node, feature string) string {
	return "Driver " + n.Driver + " does not support " + feature + " (disabled or not implemented)."
}

// bootModes are the boot modes. Source: ironic/common/boot_modes.py.
var bootModes = []string{"bios", "uefi"}

// setBootMode answers PUT /v1/nodes/NODE/states/boot_mode. No hardware type supports it: the
// request is accepted and then sets the node's last error, as with Ironic's fake-hardware.
func setBootMode(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "target")
	target := a.need("target").text("target")
	var wrong error
	if !slices.Contains(bootModes, target) {
		wrong = invalid("Invalid boot mode %s requested for node. Allowed boot modes are: bios, uefi", show(a.values["target"]))
	}
	return r.setBoot(a, wrong, "boot mode to '"+target, "set_boot_mode")
}

func setSecureBoot(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "target")
	target := a.need("target").boolean("target")
	var wrong error
	if target == nil {
		wrong = invalid("Invalid secure_boot None requested for node. Allowed secure_boot states are: True, False) ")
	}
	return r.setBoot(a, wrong, "secure_boot state to '"+repr(target != nil && *target)+"'", "set_secure_boot_state")
}

// setBoot refuses a request with bad arguments or with a wrong target, or sets the node's last error
// to the failure of a change.
func (r *request) setBoot(a *args, wrong error, change, function string) (answer, error) {
	if a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	switch {
	case err != nil:
		return answer{}, err
	case r.version < since.SetBootMode:
		return answer{}, notFound("This endpoint is supported starting with the API version %v", since.SetBootMode)
	case wrong != nil:
		return answer{}, wrong
	case errors.Is(r.conductor.Rules().Boot(n.Fields()), conductor.WrongState):
		return answer{}, conflict("Node is in %s state. Since node is transitioning, the boot mode will not be set as this may interfere with ongoing changes and result in erroneous modification. Try again later.", n.ProvisionState)
	}
	err = r.updateNode(func(n *node) error {
		n.LastError = "Failed to change " + change + ": " + unsupported(n, function)
		return nil
	})
	return r.accepted(), err
}

// showConsole answers GET /v1/nodes/NODE/states/console.
func showConsole(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	w := newWriter(64)
	w.open()
	w.key("console_enabled").boolean(n.ConsoleEnabled)
	w.key("console_info")
	if n.ConsoleEnabled {
		w.object(nil)
	} else {
		w.null()
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// setConsole answers PUT /v1/nodes/NODE/states/console. The console of fake-hardware
// does nothing; no other hardware type has one.
func setConsole(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "enabled")
	enabled := a.need("enabled").boolean("enabled")
	if a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if !r.hasInterface(n, "console") {
		return answer{}, invalid("%s", unsupported(n, "console"))
	}
	if want := enabled != nil && *enabled; want != n.ConsoleEnabled {
		err = r.updateNode(func(n *node) error {
			n.ConsoleEnabled, n.LastError = want, ""
			return nil
		})
	}
	return answer{status: http.StatusAccepted, location: "nodes/" + r.param(0) + "/states/console"}, err
}

// validateNode answers GET /v1/nodes/NODE/validate, and ...?node=NODE without NODE in
// the path.
func validateNode(r *request) (answer, error) {
	a := r.queryArgs("node", "node_uuid")
	ident := a.ident("node")
	if uuid := a.uuid("node_uuid"); uuid != "" {
		ident = uuid
	}
	if a.err != nil {
		return answer{}, a.err
	}
	switch {
	case ident == "":
		return answer{}, invalid("Expected a logical name or UUID but received None.")
	case !isUUID(ident) && r.version < since.Names:
		return answer{}, errNotAcceptable
	}
	n, err := r.node(ident)
	if err != nil {
		return answer{}, err
	}
	results, err := r.conductor.Validate(r.Context(), n.UUID)
	if err != nil && !errors.Is(err, conductor.Invalid) {
		return answer{}, err
	}
	w := newWriter(1024)
	w.open()
	for _, kind := range validatedKinds {
		result, ok := results[kind]
		if !ok || kind == "firmware" && r.highest < since.Firmware {
			continue
		}
		w.key(kind).open()
		w.key("result").boolean(result == nil)
		if result != nil {
			w.key("reason").text(result.Error())
		}
		w.close()
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// validatedKinds are the kinds of hardware interfaces in the response to a validation, in
// Ironic's order.
var validatedKinds = []string{
	"boot", "deploy", "management", "network", "power", "bios", "console", "inspect", "raid", "rescue", "storage",
	"firmware", "vendor",
}
