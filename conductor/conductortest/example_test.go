// SPDX-License-Identifier: Apache-2.0

package conductortest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

// request stands for the client under test. It returns the status of the response.
func request(method, url, body string) int {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// This program starts an Ironic outside a test.
func ExampleStart() {
	ironic, err := conductortest.Start(conductortest.Config{Series: states.Zed})
	if err != nil {
		log.Fatal(err)
	}
	defer ironic.Close()
	node := ironic.Add(conductor.Node{Name: "rack1-7"})

	fmt.Println(node.ProvisionState, request("GET", ironic.URL+"/v1/nodes/rack1-7", ""))
	// Output: enroll 200
}

// The first deployment fails, the second waits for a call-back, and the tear-down takes as long
// as the test decides.
func ExampleServer_Next() {
	ironic, err := conductortest.Start(conductortest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ironic.Close()
	ctx := context.Background()
	node := ironic.Add(conductor.Node{ProvisionState: states.Available})
	provision := ironic.URL + "/v1/nodes/" + node.UUID + "/states/provision"

	ironic.Next(node, "deploy.deploy", func(context.Context) error { return errors.New("no such image") })
	request("PUT", provision, `{"target": "active"}`)
	node = ironic.WaitFor(ctx, node.UUID, states.DeployFail)
	fmt.Println(node.LastError)

	ironic.Next(node, "deploy.deploy", func(context.Context) error { return conductor.ErrWait })
	request("PUT", provision, `{"target": "active"}`)
	ironic.WaitFor(ctx, node.UUID, states.DeployWait)
	if err := ironic.Conductor.Resume(ctx, node.UUID, nil); err != nil { // the call-back
		log.Fatal(err)
	}
	node = ironic.WaitFor(ctx, node.UUID, states.Active)
	fmt.Println(node.ProvisionState)

	proceed := make(chan struct{})
	ironic.Next(node, "deploy.tear_down", func(context.Context) error { <-proceed; return nil })
	request("PUT", provision, `{"target": "deleted"}`)
	fmt.Println(ironic.Node(node.UUID).ProvisionState)
	close(proceed)
	fmt.Println(ironic.WaitFor(ctx, node.UUID, states.Available).ProvisionState)
	// Output:
	// Deploy step deploy.deploy failed: no such image.
	// active
	// deleting
	// available
}

// The work ends as soon as a client has seen its state, so that a polling client sees each state
// on any machine.
func ExampleServer_AwaitRead() {
	ironic, err := conductortest.Start(conductortest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ironic.Close()
	node := ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Manageable})
	ironic.Next(node, "deploy.erase_devices", func(ctx context.Context) error { return ironic.AwaitRead(ctx, node) })

	request("PUT", ironic.URL+"/v1/nodes/rack1-7/states/provision", `{"target": "provide"}`)
	for {
		request("GET", ironic.URL+"/v1/nodes/rack1-7", "")
		if ironic.Node("rack1-7").ProvisionState == states.Available {
			break
		}
	}
	fmt.Println("available")
	// Output: available
}

// The node is locked for the first request; the conductor has no free worker for the second.
func ExampleServer_Refuse() {
	ironic, err := conductortest.Start(conductortest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ironic.Close()
	node := ironic.Add(conductor.Node{})
	ironic.Refuse(http.StatusConflict, http.StatusServiceUnavailable)

	for range 3 {
		fmt.Println(request("PUT", ironic.URL+"/v1/nodes/"+node.UUID+"/states/provision", `{"target": "manage"}`))
	}
	// Output:
	// 409
	// 503
	// 202
}

// A proxy in front of the Ironic responds to the first request with 503.
func ExampleServer_Wrap() {
	ironic, err := conductortest.Start(conductortest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ironic.Close()
	asked := 0
	ironic.Wrap(func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 1 {
				w.Header().Set("Retry-After", "30")
				conductortest.Fault(w, http.StatusServiceUnavailable, "Come again.")
				return
			}
			api.ServeHTTP(w, r)
		})
	})

	fmt.Println(request("GET", ironic.URL+"/v1/nodes", ""))
	fmt.Println(request("GET", ironic.URL+"/v1/nodes", ""))
	// Output:
	// 503
	// 200
}
