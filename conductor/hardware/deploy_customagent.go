// SPDX-License-Identifier: Apache-2.0

package hardware

import "cmp"

// CustomAgent returns the deploy interface "custom-agent".
func CustomAgent() Deploy { return customAgentDeploy{deployment{"custom-agent"}} }

type customAgentDeploy struct{ deployment }

func (d customAgentDeploy) Validate(n Node) error {
	return cmp.Or(d.supports(n, diskKeys), checkBoot(n))
}
