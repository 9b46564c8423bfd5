// SPDX-License-Identifier: Apache-2.0

package embedded

import "time"

// MaintainEvery returns the configuration with another interval between two checks of the database.
func (c Config) MaintainEvery(interval time.Duration) Config {
	c.maintainEvery = interval
	return c
}

// CheckDatabase returns an error if the file is not a sound database.
var CheckDatabase = checkDatabase
