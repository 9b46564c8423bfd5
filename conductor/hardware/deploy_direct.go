// SPDX-License-Identifier: Apache-2.0

package hardware

import "cmp"

// Direct returns the deploy interface "direct". The package comment describes the deploy interfaces.
func Direct() Deploy { return directDeploy{deployment{"direct"}} }

type directDeploy struct{ deployment }

func (directDeploy) WritesImage() bool { return true }

func (d directDeploy) Validate(n Node) error {
	if err := d.supports(n, diskKeys); err != nil {
		return err
	}
	return cmp.Or(n.config.validateImage(n.Node), checkBoot(n))
}
