// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// failures collects the messages of assertions that fail.
type failures struct{ text string }

func (f *failures) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) }

func TestNothingPrintsThePasswordsOfABMC(t *testing.T) {
	const password = "hunter2"
	config := bmctest.RedfishConfig{Users: map[string]secret.Text{"u": secret.New(password)}}
	bmc := newRedfish(t, config)
	opened := ask(t, bmc, http.MethodPost, sessions, `{"UserName":"u","Password":"hunter2"}`, "Authorization", "")
	token := opened.Header.Get("X-Auth-Token")
	require.NotEmpty(t, token)
	require.NoError(t, bmc.Close()) // otherwise its goroutines change the printed values

	type holder struct {
		redfish bmctest.RedfishConfig
		ipmi    bmctest.IPMIConfig
	}
	hidden := holder{config, bmctest.IPMIConfig{Users: config.Users}}
	for _, value := range []any{config, hidden, &hidden, hidden.ipmi, bmc} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			printed := fmt.Sprintf(verb, value)
			require.NotContains(t, printed, password, verb)
			require.NotContains(t, printed, fmt.Sprintf("%x", password), verb)
			require.NotContains(t, printed, token, verb)
		}
		encoded, _ := json.Marshal(value) // some are nothing to encode
		require.NotContains(t, string(encoded), password)
	}
	var failed failures
	assert.Equal(&failed, hidden, "another") // without the BMC itself, which refers to much of package net/http
	require.NotContains(t, failed.text, password)
}
