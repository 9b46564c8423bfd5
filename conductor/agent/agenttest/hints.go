// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// matchHints checks that the node's root device hints select the disk.
//
// Source: get_os_install_device in ironic_python_agent/hardware.py.
func (a *agent) matchHints() error {
	a.mu.Lock()
	node := a.node
	a.mu.Unlock()
	for _, parent := range []string{"instance_info", "properties"} {
		in, _ := node[parent].(map[string]any)
		hints, _ := in["root_device"].(map[string]any)
		if len(hints) == 0 {
			continue
		}
		for name, hint := range hints {
			if !a.machine.matches(name, fmt.Sprint(hint)) {
				return deviceNotFound("No suitable device was found for deployment using these hints %v", hints)
			}
		}
		return nil
	}
	return nil
}

func deviceNotFound(format string, args ...any) *failure {
	return newFailure("DeviceNotFound", http.StatusNotFound, "Error finding the disk or partition device to deploy the image onto",
		format, args...)
}

// matches reports whether the disk satisfies a root device hint.
func (m *Machine) matches(name, hint string) bool {
	operator, wanted, ok := strings.Cut(hint, " ")
	if !ok {
		operator, wanted = "", hint
	}
	have := map[string]string{
		"name": device, "model": diskModel, "vendor": diskVendor, "serial": diskSerial, "wwn": diskWWN, "rotational": "false",
		"size": strconv.FormatInt(m.diskSize()>>30, 10),
	}[name]
	switch operator {
	case "<in>":
		return strings.Contains(strings.ToLower(have), strings.ToLower(wanted))
	case ">=", "<=", "=", "==":
		number, err := strconv.ParseInt(wanted, 10, 64)
		size, _ := strconv.ParseInt(have, 10, 64)
		return err == nil && (operator == ">=" && size >= number || operator == "<=" && size <= number || operator[0] == '=' && size == number)
	}
	return strings.EqualFold(have, wanted)
}
