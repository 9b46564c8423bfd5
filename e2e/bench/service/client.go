// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// client sends requests to one service. It keeps its connections open and is safe for
// concurrent use.
type client struct {
	url  string
	http *http.Client
}

// maxConcurrency is how many connections a client keeps open.
const maxConcurrency = 64

// requestTimeout bounds one request. A busy Ironic answers after seconds.
const requestTimeout = time.Minute

func newClient(url string) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: maxConcurrency, DisableCompression: true}
	return &client{url: url, http: &http.Client{Transport: transport, Timeout: requestTimeout}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// statusError is an answer with an unexpected status.
type statusError struct {
	method, path string
	status       int
	body         string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: status %d: %.300s", e.method, e.path, e.status, e.body)
}

// do sends a request to a path below /v1 and returns the body of the answer. For a status
// other than success the error is a statusError.
func (c *client) do(ctx context.Context, method, path, body string) ([]byte, error) {
	var answer bytes.Buffer
	err := c.copy(ctx, &answer, method, path, body)
	return answer.Bytes(), err
}

// get decodes the answer to a GET request.
func (c *client) get(ctx context.Context, path string, into any) error {
	answer, err := c.do(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// read sends a request as do does, reads the answer to its end and discards the body.
// Keeping a long list would take the client, which shares the processors with the
// service, about as long as the service takes to write the list.
func (c *client) read(ctx context.Context, method, path, body string) error {
	return c.copy(ctx, io.Discard, method, path, body)
}

func (c *client) copy(ctx context.Context, to io.Writer, method, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, c.url+"/v1"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-OpenStack-Ironic-API-Version", states.Antelope.MaxAPIVersion().String())
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusBadRequest {
		_, err = io.Copy(to, response.Body)
		return err
	}
	answer, err := io.ReadAll(response.Body)
	return errors.Join(&statusError{method, path, response.StatusCode, string(answer)}, err)
}

// newNode is the body of a request to create a node, as long as the record of a real
// node.
const newNode = `{
	"driver": "fake-hardware", "name": %q, "resource_class": "baremetal",
	"driver_info": {"redfish_address": "https://10.1.2.3", "redfish_username": "admin", "redfish_password": "secret",
		"redfish_system_id": "/redfish/v1/Systems/1"},
	"properties": {"cpus": 64, "cpu_arch": "x86_64", "memory_mb": 524288, "local_gb": 3840, "capabilities": "boot_mode:uefi"},
	"extra": {"rack": "r17", "unit": 23}
}`

// create creates a node in enroll and returns its UUID.
func (c *client) create(ctx context.Context, name string) (uuid string, err error) {
	answer, err := c.do(ctx, http.MethodPost, "/nodes", fmt.Sprintf(newNode, name))
	if err != nil {
		return "", err
	}
	var node struct {
		UUID string `json:"uuid"`
	}
	return node.UUID, json.Unmarshal(answer, &node)
}

func (c *client) provision(ctx context.Context, uuid, target string) error {
	_, err := c.do(ctx, http.MethodPut, "/nodes/"+uuid+"/states/provision", `{"target": "`+target+`"}`)
	return err
}

// shortestPause and longestPause bound the pause between two polls of a node that is
// not settled.
const (
	shortestPause = time.Millisecond
	longestPause  = 50 * time.Millisecond
)

// settle polls until a node is not reserved and in the wanted state. It returns an error
// if the node stays in a failed state. The pause between two polls is as long as the
// previous poll, so that polling neither overloads a slow service nor delays the result
// of a fast one. settle skips a pause shorter than shortestPause, because the timer would
// extend the pause to a millisecond.
func (c *client) settle(ctx context.Context, uuid, want string) error {
	var node struct {
		State       string  `json:"provision_state"`
		Reservation *string `json:"reservation"`
		LastError   string  `json:"last_error"`
	}
	for {
		start := time.Now()
		if err := c.get(ctx, "/nodes/"+uuid+"?fields=provision_state,reservation,last_error", &node); err != nil {
			return err
		}
		switch {
		case node.Reservation != nil:
		case node.State == want:
			return nil
		case node.LastError != "":
			return fmt.Errorf("node %s is in %q, not in %q: %s", uuid, node.State, want, node.LastError)
		}
		pause := min(time.Since(start), longestPause)
		if pause < shortestPause {
			continue
		}
		if !sleep.For(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}
