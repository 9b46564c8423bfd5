// SPDX-License-Identifier: Apache-2.0

package ramdisk

import (
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// heartbeatTimeout is the maximum time in seconds between two heartbeats of an agent
// (ramdisk_heartbeat_timeout).
const heartbeatTimeout = 300

// imageFormats are the formats of images that an agent may write (permitted_image_formats).
var imageFormats = []string{"raw", "gpt", "qcow2", "iso"}

// writeAgentConfig writes the configuration of a node's agent, with the defaults of Ironic's last release of the
// series. The token is empty if an earlier lookup has given it to the agent.
//
// Source: config in ironic/api/controllers/v1/ramdisk.py.
func writeAgentConfig(r *rest.Request, w *wire.Writer, n *conductor.Node, token string) {
	w.Open()
	w.Key("metrics").Open()
	w.Key("backend").Text("noop")
	w.Key("prepend_host").Boolean(false)
	w.Key("prepend_uuid").Boolean(false)
	w.Key("prepend_host_reverse").Boolean(true)
	w.Key("global_prefix").Null()
	w.Close()
	w.Key("metrics_statsd").Open()
	w.Key("statsd_host").Text("localhost")
	w.Key("statsd_port").Integer(8125)
	w.Close()
	w.Key("heartbeat_timeout").Integer(heartbeatTimeout)
	if r.Series >= states.Flamingo {
		w.Key("agent_containers")
		writeContainers(w, r.Series)
	}
	w.Key("agent_token")
	switch {
	case r.Version < since.AgentToken:
		w.Null()
	case token == "":
		w.Text(masked.Secret)
	default:
		w.Text(token)
	}
	w.Key("agent_token_required").Boolean(true)
	if r.Series >= states.Bobcat {
		w.Key("agent_md5_checksum_enable").Boolean(!r.AgentsWithoutMD5)
	}
	if r.Series >= states.Antelope {
		w.Key("disable_deep_image_inspection").Boolean(false)
		w.Key("permitted_image_formats").Texts(imageFormats)
	}
	if r.Series >= states.Gazpacho {
		w.Key("agent_skip_bmc_detect").Boolean(knowsBMC(r.Series, r.InterfaceOf(n, "management")))
	}
	if r.BIOSBootloaders || r.Series == states.Epoxy || r.Series >= states.Hibiscus { // a late fix, which 32.0.1 and 35.0.1 lack
		w.Key("enable_bios_bootloader_install").Boolean(r.BIOSBootloaders)
	}
	if r.Series >= states.Hibiscus {
		w.Key("tls_min_version").Text("1.3")
		w.Key("tls_cipher_suites").Null()
	}
	w.Close()
}

// writeContainers writes the defaults of the options for steps that run containers. No container is allowed.
//
// Source: ironic/conf/agent_containers.py.
func writeContainers(w *wire.Writer, series states.Series) {
	w.Open()
	w.Key("allow_arbitrary_containers").Boolean(false)
	w.Key("allowed_containers").Texts(nil)
	w.Key("container_steps_file").Text("/etc/ironic-python-agent.d/mysteps.yaml")
	w.Key("runner").Text("podman")
	if series >= states.Hibiscus {
		w.Key("pull_options").Texts(nil)
		w.Key("run_options").Texts([]string{"--rm", "--network=host"})
	} else {
		w.Key("pull_options").Text("--tls-verify=false")
		w.Key("run_options").Text("--rm --network=host --tls-verify=false")
		w.Key("container_conf_file").Text("/etc/containers/containers.conf")
	}
	w.Close()
}

// knowsBMC reports whether nodes with a management interface have the address of their BMC in their records, so that
// the agent need not look for it.
func knowsBMC(series states.Series, management string) bool {
	known := []string{"redfish", "idrac-redfish"}
	if series < states.Hibiscus {
		known = append(known, "ilo", "ilo5", "ilo6", "irmc")
	}
	return slices.Contains(known, management)
}
