// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strings"
)

const (
	gophercloudModule = "github.com/gophercloud/gophercloud/v2"
	gophercloudTests  = "./internal/acceptance/openstack/baremetal/"
)

// Gophercloud runs gophercloud's acceptance tests of bare metal against the API at
// endpoint: the tests without authentication, and those that get the endpoint from a
// Keystone. An error means that the tests did not run to the end.
//
// The tests belong to the version of gophercloud that this module requires. They are
// built with gophercloud's own go.mod.
func Gophercloud(ctx context.Context, endpoint string) ([]Result, error) {
	source, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", gophercloudModule).Output()
	if err != nil {
		return nil, fmt.Errorf("clients: find gophercloud: %w", err)
	}
	keystone := httptest.NewServer(Keystone(endpoint))
	defer keystone.Close()

	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-p=1", "-vet=off", "-tags=baremetal",
		gophercloudTests+"noauth", gophercloudTests+"v1")
	cmd.Dir = strings.TrimSpace(string(source))
	cmd.Env = append(environment(),
		"GOWORK=off", "GOFLAGS=",
		"IRONIC_ENDPOINT="+endpoint+"/v1",
		"OS_AUTH_URL="+keystone.URL+"/v3", "OS_REGION_NAME="+keystoneRegion,
		"OS_USERNAME="+keystoneUser, "OS_PASSWORD="+keystonePassword,
		"OS_DOMAIN_ID=default", "OS_PROJECT_NAME=admin",
		"OS_BRANCH=master", // skips no test for an old server
	)
	ownGroup(cmd)
	var logged bytes.Buffer
	cmd.Stderr = &logged
	output, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return nil, failed(err, "gophercloud's tests", logged.Bytes())
	}
	results, decodeErr := goResults(output)
	if decodeErr != nil || len(results) == 0 {
		return nil, failed(errors.Join(err, decodeErr), "results of gophercloud's tests", append(logged.Bytes(), output...))
	}
	return results, nil
}

// environment returns the environment of this process without the settings of a cloud.
func environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "OS_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// goResults reads the events of go test -json.
func goResults(events []byte) ([]Result, error) {
	var results []Result
	output := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(events))
	for {
		var event struct{ Action, Package, Test, Output string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil {
			return nil, fmt.Errorf("clients: events of go test: %w", err)
		}
		if event.Test == "" {
			continue
		}
		name := path.Base(event.Package) + "/" + event.Test
		switch event.Action {
		case "output":
			output[name] += event.Output
		case "pass":
			results = append(results, Result{Name: name, Passed: true})
		case "fail", "skip":
			results = append(results, Result{Name: name, Output: output[name]})
		}
	}
}
