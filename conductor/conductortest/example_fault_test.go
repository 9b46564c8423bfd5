// SPDX-License-Identifier: Apache-2.0

package conductortest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ironstate/ironstate/conductor/conductortest"
)

// This handler responds with a fault in Ironic's form.
func ExampleFault() {
	answer := httptest.NewRecorder()
	conductortest.Fault(answer, http.StatusServiceUnavailable, "Come again.")
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	fmt.Println(answer.Body)
	// Output:
	// 503 application/json
	// {"error_message":"{\"debuginfo\":null,\"faultcode\":\"Server\",\"faultstring\":\"Come again.\"}"}
}
