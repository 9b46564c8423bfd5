// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAgentsNeedTLSAsTheFlagSays(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		args []string
		want *bool
	}{
		{nil, nil},
		{[]string{"-agent-require-tls"}, &yes},
		{[]string{"-agent-require-tls=true"}, &yes},
		{[]string{"-agent-require-tls=false"}, &no},
	} {
		o, err := parse(test.args, io.Discard)
		require.NoError(t, err)
		require.Equal(t, test.want, o.agents.requireTLS, "%q", test.args)
	}
	_, err := parse([]string{"-agent-require-tls=perhaps"}, io.Discard)
	require.ErrorContains(t, err, "want true or false")
}
