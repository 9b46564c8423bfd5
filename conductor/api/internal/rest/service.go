// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// Service holds the conductor, its series and the limits of the API. All requests share it.
type Service struct {
	Conductor *conductor.Conductor
	Table     *states.Table
	Series    states.Series
	Highest   states.APIVersion // the highest version of the series
	// BIOSBootloaders permits agents to install boot loaders in machines that boot by BIOS.
	BIOSBootloaders bool
	// AgentsWithoutMD5 tells agents to refuse checksums by MD5.
	AgentsWithoutMD5 bool

	publicURL   string  // the base of links; empty stands for the host of the request
	maxLimit    int     // the maximum number of items on a page
	bodies      *budget // the memory for the bodies of requests
	heartbeats  *budget // the same for agents' lookups and heartbeats
	inspections *budget // the same for agents' inspections
}

// NewService returns the service of a conductor's API.
func NewService(c *conductor.Conductor, publicURL string, maxLimit int) *Service {
	s := &Service{Conductor: c, Table: c.Table(), Series: c.Table().Series(), publicURL: publicURL, maxLimit: maxLimit}
	s.Highest = s.Series.MaxAPIVersion()
	s.makeBudgets()
	return s
}

func (s *Service) makeBudgets() {
	s.bodies = newBudget(maxBodies, maxBodies)
	s.heartbeats, s.inspections = newBudget(maxHeartbeats, maxHeartbeats/2), newBudget(maxInspections, maxInspections/2)
}

// NotPermitted returns the fault of a request for one record in the path of another record.
//
// Source: MalformedRequestURI in ironic/common/exception.py.
func (s *Service) NotPermitted() error {
	if s.Series >= states.Flamingo {
		return fault.Invalid("Malformed request URI.")
	}
	return fault.NotPermitted
}

// Describe returns the description of a hardware type, zero for one that no conductor has.
func (s *Service) Describe(driver string) conductor.Description {
	d, _ := s.Conductor.Description(driver)
	return d
}

// InterfaceOf returns a node's hardware interface of a kind: the one in the node's record or the
// default of its hardware type, empty if both are missing.
func (s *Service) InterfaceOf(n *conductor.Node, kind string) string {
	return s.Describe(n.Driver).Interface(n, kind)
}
