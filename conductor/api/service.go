package api

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// service is what all requests share: the conductor, its series and the limits of the API.
type service struct {
	conductor *conductor.Conductor
	table     *states.Table
	series    states.Series
	highest   states.APIVersion // of the series
	publicURL string            // the base of links, empty for the host of the request
	maxLimit  int               // the most items on a page
	budget    budget            // for the bodies of requests
}

// newService returns what the requests to a conductor's API share.
func newService(c *conductor.Conductor, publicURL string, maxLimit int) *service {
	s := &service{conductor: c, table: c.Table(), series: c.Table().Series(), publicURL: publicURL, maxLimit: maxLimit}
	s.highest = s.series.MaxAPIVersion()
	s.budget.left.Store(maxBodies)
	return s
}

// describe returns the description of a hardware type, zero for one that no conductor has.
func (s *service) describe(driver string) conductor.Description {
	d, _ := s.conductor.Description(driver)
	return d
}

// interfaceOf returns a node's hardware interface of a kind: the one in the node's record or the
// default of its hardware type, empty if both are missing.
func (s *service) interfaceOf(n *conductor.Node, kind string) string {
	return s.describe(n.Driver).Interface(n, kind)
}
