// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestAHandlerAnswersInPlaceOfTheBMC(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{On: system, Do: bmctest.Handle("teapot", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(append([]byte("told: "), body...))
	})})
	answer := ask(t, bmc, http.MethodPatch, system, `{"Boot":{}}`)
	require.Equal(t, http.StatusTeapot, answer.StatusCode)
	require.Equal(t, `told: {"Boot":{}}`, string(answer.body))
	asked := bmc.Requests()
	require.Equal(t, http.StatusTeapot, asked[len(asked)-1].Status)
}

func TestAChangeIsOfTheProperAnswer(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Times: 1, Do: bmctest.Change("shout", func(h http.Header, body []byte) []byte {
		h.Set("X-Odd", "yes")
		return append(body, '!')
	})})
	changed := ask(t, bmc, http.MethodGet, system, "")
	proper := ask(t, bmc, http.MethodGet, system, "")
	require.Equal(t, "yes", changed.Header.Get("X-Odd"))
	require.Equal(t, string(proper.body)+"!", string(changed.body))
	require.Equal(t, proper.StatusCode, changed.StatusCode)
}

func TestAnEffectWithoutAFunctionDoesNothing(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	proper := ask(t, bmc, http.MethodGet, system, "")
	for _, do := range []bmctest.Effect{bmctest.Handle("none", nil), bmctest.Change("none", nil)} {
		bmc.AddFault(bmctest.Fault{Do: do})
		require.Equal(t, proper.body, ask(t, bmc, http.MethodGet, system, "").body)
		require.NoError(t, bmc.ClearFaults())
	}
}
