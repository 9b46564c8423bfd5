// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"fmt"

	"github.com/ironstate/ironstate/conductor/internal/namedfile"
	"github.com/ironstate/ironstate/internal/oslobool"
)

// agentCA returns how the certificate of a node's agent is verified: by the certificates in a PEM text, by the
// authorities of the operating system if the text is empty, or not at all if unverified is set. The certificate of the
// agent's heartbeats comes first, then agent_verify_ca of driver_info, then the configuration. The last two are
// booleans or the path of a file, which read reads.
//
// Source: _get_verify in ironic/drivers/modules/agent_client.py.
func agentCA(n *Node, configured string, read func(path string) ([]byte, error)) (pem string, unverified bool, err error) {
	if n.Agent.VerifyCA != "" {
		return n.Agent.VerifyCA, false, nil
	}
	value := n.DriverInfo["agent_verify_ca"]
	if value == nil {
		value = cmp.Or(configured, "true")
	}
	text := fmt.Sprint(value)
	if verify, ok := oslobool.Parse(text); ok {
		return "", !verify, nil
	}
	content, err := read(text)
	if err != nil || len(content) == 0 {
		return "", false, refuse(Invalid, "Agent CA %s is neither a path nor a boolean", text)
	}
	return string(content), false, nil
}

// maxCA bounds a file with certificates in bytes.
const maxCA = 1 << 20

// readCA reads a file with certificates.
func readCA(path string) ([]byte, error) { return namedfile.Read(path, maxCA) }
