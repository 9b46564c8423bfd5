package conductortest

import "time"

// SetMaxWait sets how long WaitFor waits.
func (s *Server) SetMaxWait(d time.Duration) { s.waits = d }
