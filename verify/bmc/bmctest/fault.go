// SPDX-License-Identifier: Apache-2.0

package bmctest

import "net/http"

// Fault selects requests to a Redfish BMC that fail, and how they fail. Its conditions must all hold; a Fault without
// conditions matches every request, or those that its effect refuses.
type Fault struct {
	On     string // path of the request, such as "/redfish/v1/Systems/1"; any if empty
	Method string // method of the request, such as "GET"; any if empty
	Skip   int    // how many requests succeed first that match so far, whatever If would return
	Times  int    // how many fail after that; all if 0
	Do     Effect // the effect; none if it is the zero value

	// If, if not nil, is asked last: the request fails only if it returns true. It is not asked about a request that Skip
	// lets succeed, nor once as many as Times have failed. It is called while the BMC is locked: it must not call a method
	// of the BMC, which would wait for ever, nor read the request's body.
	If func(*http.Request) bool
}

// activeFault is a Fault that counts its requests.
type activeFault struct {
	Fault
	seen   int // the requests that match, whatever If says
	failed int // how many of them have failed
}

// meets reports whether the fault affects this request, and counts it.
func (f *activeFault) meets(c *call) bool {
	if f.On != "" && cleanPath(f.On) != cleanPath(c.URL.Path) || f.Method != "" && f.Method != c.Method || f.Do.spares(c) {
		return false
	}
	f.seen++
	if f.seen <= f.Skip || f.Times != 0 && f.failed >= f.Times || f.If != nil && !f.If(c.Request) {
		return false
	}
	f.failed++
	return true
}

// AddFault adds a fault to the BMC's. If several match a request, the first added takes effect.
//
// Refuse, Silent and PlainHTTP affect the port and not a request. They begin at once or, if the fault
// has a condition, with the first request that fulfils it, which ends with a reset. They last until ClearFaults.
func (b *Redfish) AddFault(f Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.Do.port != portTLS && f.On == "" && f.Method == "" && f.Skip == 0 && f.If == nil {
		b.setPort(f.Do.port)
		return
	}
	b.faults = append(b.faults, &activeFault{Fault: f})
}

// ClearFaults removes all faults; the BMC keeps its address. Requests that hang continue to hang, except that the end
// of Refuse, Silent and PlainHTTP resets all connections. It returns an error if another process has taken the port
// during Refuse, which cannot happen on Linux.
func (b *Redfish) ClearFaults() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
	return b.restorePort()
}

// fault returns the effect of the first fault that matches the request, nil if none does.
func (b *Redfish) fault(c *call) func(*exchange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		if !f.meets(c) {
			continue
		}
		if f.Do.port != portTLS {
			if f.Do.port == b.port {
				continue
			}
			b.setPort(f.Do.port)
			return (*exchange).reset
		}
		return f.Do.handle
	}
	return nil
}
