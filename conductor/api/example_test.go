// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// This example serves the API of a conductor of the series 2023.1 to one client.
func ExampleNew() {
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Table: states.Antelope.Table(),
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	defer func() { cancel(); <-done }()
	if err := c.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}

	server := httptest.NewServer(api.New(c, api.Config{}))
	defer server.Close()
	r, _ := http.NewRequest("POST", server.URL+"/v1/nodes", strings.NewReader(`{"driver": "fake-hardware", "name": "rack1-7"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
	answer, err := server.Client().Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	n, err := c.Node(ctx, "rack1-7")
	fmt.Println(n.ProvisionState, err)
	// Output:
	// 201 Created
	// enroll <nil>
}
