// SPDX-License-Identifier: Apache-2.0

package conductortest

import "time"

// SetMaxWait sets the timeout of WaitFor.
func (s *Server) SetMaxWait(d time.Duration) { s.waits = d }
