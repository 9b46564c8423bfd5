// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Client is a client of the compared part of Ironic's API. Its methods end by package try if they get no answer. It is
// safe for concurrent use.
type Client struct {
	endpoint string
	http     *http.Client
}

func newClient(endpoint string) *Client {
	return &Client{endpoint: endpoint, http: &http.Client{Transport: &http.Transport{}}}
}

func (c *Client) close() { c.http.CloseIdleConnections() }

// Answer is the API's answer to a request.
type Answer struct {
	Status int
	Fault  string // the text of a refusal
	Body   []byte
}

// want ends the check unless the answer has the wanted status. The text says what was requested.
func (a Answer) want(status int, format string, args ...any) {
	if a.Status != status {
		try.Failf("lockstep: %s: %d %s", fmt.Sprintf(format, args...), a.Status, a.Fault)
	}
}

// Node is the compared part of a node in the API's answers.
type Node struct {
	machine.Node
	UUID        string       `json:"uuid"`
	Power       states.Power `json:"power_state"`
	TargetPower states.Power `json:"target_power_state"`
	Maintenance bool         `json:"maintenance"`
	Fault       string       `json:"fault"`
	Reservation string       `json:"reservation"`
}

// Create creates a node.
func (c *Client) Create(ctx context.Context, v states.APIVersion, node map[string]any) (Node, Answer) {
	return c.node(ctx, v, http.MethodPost, "", node)
}

// Show gets a node.
func (c *Client) Show(ctx context.Context, v states.APIVersion, uuid string) (Node, Answer) {
	return c.node(ctx, v, http.MethodGet, "/"+uuid, nil)
}

// node makes a request whose answer is a node.
func (c *Client) node(ctx context.Context, v states.APIVersion, method, path string, body any) (Node, Answer) {
	var node Node
	answer := c.do(ctx, v, method, path, body)
	if answer.Fault == "" {
		try.OKf(json.Unmarshal(answer.Body, &node), "lockstep: a node")
	}
	return node, answer
}

// List lists the nodes in a provision state, or all nodes if provisionState is empty.
func (c *Client) List(ctx context.Context, v states.APIVersion, provisionState string) Answer {
	path := ""
	if provisionState != "" {
		path = "?provision_state=" + url.QueryEscape(provisionState)
	}
	return c.do(ctx, v, http.MethodGet, path, nil)
}

// Provision requests a provision state; body is at least {"target": ...}.
func (c *Client) Provision(ctx context.Context, v states.APIVersion, uuid string, body map[string]any) Answer {
	return c.do(ctx, v, http.MethodPut, "/"+uuid+"/states/provision", body)
}

// Power requests a power state.
func (c *Client) Power(ctx context.Context, v states.APIVersion, uuid string, target states.Power) Answer {
	return c.do(ctx, v, http.MethodPut, "/"+uuid+"/states/power", map[string]any{"target": target})
}

// Maintain puts a node into maintenance without a fault, as an operator does, or ends its
// maintenance.
func (c *Client) Maintain(ctx context.Context, v states.APIVersion, uuid string, on bool) Answer {
	if !on {
		return c.do(ctx, v, http.MethodDelete, "/"+uuid+"/maintenance", nil)
	}
	return c.do(ctx, v, http.MethodPut, "/"+uuid+"/maintenance", map[string]any{"reason": "by the operator"})
}

// Patch sets one field of the node's record.
func (c *Client) Patch(ctx context.Context, v states.APIVersion, uuid, path string, value any) Answer {
	return c.do(ctx, v, http.MethodPatch, "/"+uuid, []map[string]any{{"op": "add", "path": path, "value": value}})
}

// Delete deletes the node's record.
func (c *Client) Delete(ctx context.Context, v states.APIVersion, uuid string) Answer {
	return c.do(ctx, v, http.MethodDelete, "/"+uuid, nil)
}

// Call resumes the waiting work of a node with the driver of this package.
func (c *Client) Call(ctx context.Context, v states.APIVersion, uuid string) Answer {
	return c.do(ctx, v, http.MethodPost, "/"+uuid+"/vendor_passthru?method=call", map[string]any{})
}

// do makes a request under /v1/nodes.
func (c *Client) do(ctx context.Context, v states.APIVersion, method, path string, body any) Answer {
	return c.send(ctx, v, method, "nodes"+path, body)
}

// send makes a request under /v1.
func (c *Client) send(ctx context.Context, v states.APIVersion, method, path string, body any) Answer {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(try.Get(json.Marshal(body)))
	}
	request := try.Get(http.NewRequestWithContext(ctx, method, c.endpoint+"/v1/"+path, content))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-OpenStack-Ironic-API-Version", v.String())
	response, err := c.http.Do(request)
	try.OKf(err, "lockstep: ask ironic")
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	try.OKf(err, "lockstep: ironic's answer")
	answer := Answer{Status: response.StatusCode, Body: text}
	if answer.Status >= http.StatusBadRequest {
		answer.Fault = faultOf(answer.Body)
	}
	return answer
}

// faultOf returns the text in Ironic's fault, a string of JSON within JSON in one of two
// forms, or the whole body if it has neither form.
func faultOf(body []byte) string {
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner struct {
		Fault       string `json:"faultstring"`
		Description string `json:"description"`
	}
	if json.Unmarshal(body, &outer) != nil || json.Unmarshal([]byte(outer.Message), &inner) != nil {
		return cmp.Or(string(body), "no text")
	}
	return cmp.Or(inner.Fault, inner.Description, string(body))
}
