package bmctest

import "net/http"

// Fault says which requests to a Redfish BMC go wrong, and how. Its conditions must all hold; a Fault without conditions
// is about every request.
type Fault struct {
	On     string // path of the request, as "/redfish/v1/Systems/1"; any if empty
	Method string // method of the request, as "GET"; any if empty
	Skip   int    // how many of these requests are spared first
	Times  int    // how many go wrong after that; all if 0
	Do     Effect // what happens; nothing if it is the zero value
}

// activeFault is a Fault with the requests that it has met.
type activeFault struct {
	Fault
	seen int
}

// meets tells whether the fault strikes this request.
func (f *activeFault) meets(r *http.Request) bool {
	if f.On != "" && cleanPath(f.On) != cleanPath(r.URL.Path) || f.Method != "" && f.Method != r.Method {
		return false
	}
	f.seen++
	return f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times)
}

// AddFault adds a fault to those that the BMC has. Where several strike a request, the one that was added first does.
//
// Refuse, and Silent and PlainHTTP of Effects, are about the port and not about a request. They begin at once, or, if the fault has a
// condition, when a request fulfils it, and that request ends with a reset. They last until ClearFaults.
func (b *Redfish) AddFault(f Fault) {
	if !b.made() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.Do.line != lineTLS && f.On == "" && f.Method == "" && f.Skip == 0 {
		b.setLine(f.Do.line)
		return
	}
	b.faults = append(b.faults, &activeFault{Fault: f})
}

// ClearFaults makes the BMC healthy again, on the same address. What hangs by then goes on hanging, except that the end of
// Refuse, Silent and PlainHTTP resets all connections. The error is that the port, which Refuse gave up, has been taken by
// somebody else.
func (b *Redfish) ClearFaults() error {
	if !b.made() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
	return b.restoreLine()
}

// fault is what spoils the request, nil if nothing does.
func (b *Redfish) fault(r *http.Request) func(*exchange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		if !f.meets(r) {
			continue
		}
		if f.Do.line != lineTLS {
			if f.Do.line == b.line {
				continue
			}
			b.setLine(f.Do.line)
			return (*exchange).reset
		}
		return f.Do.spoil
	}
	return nil
}
