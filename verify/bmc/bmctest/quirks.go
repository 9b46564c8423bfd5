// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"net/http"
	"slices"
	"time"
)

// Quirks lists faults with which a client should do its work, as Ironic does: what people report of BMCs, and the
// refusals and quirks of all profiles. [Effects] lists the effects of BMCs that are broken, or hostile.
func Quirks() []Fault {
	all := []Fault{
		{Do: RefuseContinuous()},
		{Do: RequireParameters("TransferProtocolType", "TransferMethod")},
		{Do: WithoutProperty("Inserted"), Method: http.MethodGet},
		{Do: StaleMedia("http://images.example/old.iso"), Times: 3},
		{Do: Meanwhile(powerOff, http.StatusConflict), Times: 1},
		{Do: Meanwhile(powerOff, 0), Times: 1},
		{Do: Meanwhile(powerOn, http.StatusBadRequest), Times: 1, Skip: 1},
		{Do: Redirect(http.StatusPermanentRedirect, "*/")},
		{Do: WeakenedETag(), Method: http.MethodGet},
		{Do: WrongETag(`W/"7"`), Method: http.MethodGet},
		{Do: WrongETag(""), Method: http.MethodGet},
		{Do: Unavailable(time.Second), Method: http.MethodGet, Times: 5}, // as by check_retry_on_exception in sushy/connector.py
		{Do: CloseAfter(0), Method: http.MethodGet, Skip: 5, Times: 5},   // as by _op of the same file
	}
	for _, p := range Profiles() {
		for _, e := range p.Refusals { // profiles share some
			if !slices.ContainsFunc(all, func(other Fault) bool { return other.Do.name == e.name }) {
				all = append(all, Fault{Do: e})
			}
		}
		all = append(all, p.Quirks...)
	}
	return all
}
