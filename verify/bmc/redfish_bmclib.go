// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	bmclib "github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// answers are what bmclib's driver gets in place of a BMC's answers, by path. It asks nobody else, and needs no
// credentials: this package logs in, bounds each answer, and gives the driver the system that it has read, so that
// bmclib alone decides what a power state is.
type answers map[string]any

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	resource, ok := a[req.URL.RequestURI()]
	if !ok || req.Method != http.MethodGet {
		return nil, failure.Protocolf("bmclib asks for %s %s", req.Method, req.URL)
	}
	body, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
}

func (r *redfishConnection) powerState(ctx context.Context) (string, error) {
	system, err := r.systemReader(ctx)
	if err != nil {
		return "", err
	}
	return system.power()
}

// power returns the system's power state as bmclib's driver reads it.
func (r *reader) power() (word string, err error) {
	if err := r.raw.Get("PowerState", new(string)); err != nil {
		return "", err
	}
	const systems = redfish.Root + "Systems"
	system := r.answer.Request.Path
	transport := answers{
		redfish.Root: map[string]any{"Systems": redfish.Link{ID: systems}},
		systems:      map[string]any{"Members": []redfish.Link{{ID: system}}},
		system:       r.members,
	}
	err = guarded(func() error {
		driver := bmclib.New("bmc", "", "", logr.Discard(),
			bmclib.WithUseBasicAuth(true), bmclib.WithHttpClient(&http.Client{Transport: transport}))
		if err := driver.Open(context.WithoutCancel(r.ctx)); err != nil {
			return err
		}
		word, err = driver.PowerStateGet(r.ctx)
		return err
	})
	return word, err
}
