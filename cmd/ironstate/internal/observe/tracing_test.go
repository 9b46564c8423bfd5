// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingIsTracedByDefault(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	traces, err := NewTracing(t.Context(), "", "alpha", nil)
	require.NoError(t, err)
	require.Nil(t, traces)
	require.Nil(t, traces.Tracer())
	traces.Close()
}

func TestRouteHasNoNamesOfClients(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/{}", "/v1/nodes": "/v1/nodes", "/v1/nodes/detail": "/v1/nodes/detail", "/v1/nodes/rack1-7": "/v1/nodes/{}",
		"/v1/nodes/rack1-7/states/power": "/v1/nodes/{}/states/power", "/v1/nodes/x/traits/CUSTOM_ME": "/v1/nodes/{}/traits/{}",
	} {
		assert.Equal(t, want, route(path), path)
	}
}
