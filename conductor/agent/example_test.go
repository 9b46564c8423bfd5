// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/verify/secret"
)

// The client asks for the commands that an agent has received.
func ExampleClient() {
	booted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"commands": [{"command_name": "execute_clean_step", "command_status": "RUNNING"}]}`)
	}))
	defer booted.Close()

	client, err := agent.New(agent.Config{URL: booted.URL, Token: secret.New("of the lookup"), Node: "node-7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	commands, err := client.Commands(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(commands[0].Name, commands[0].Status)
	// Output: execute_clean_step RUNNING
}

// A heartbeat has come while the node waits for a step that was sent to its agent.
func ExampleJudge() {
	erase := agent.StepName{Interface: "deploy", Step: "erase_devices"}
	verdict, reason := agent.Judge(agent.Clean, "node-7", agent.Current{Name: erase, Sent: true}, []agent.Command{
		{Name: "get_clean_steps", Status: agent.Succeeded},
		{Name: "execute_clean_step", Status: agent.Failed, Error: json.RawMessage(`{"details": "/dev/sda is frozen"}`)},
	})
	fmt.Println(verdict)
	fmt.Println(reason)
	// Output:
	// fail
	// Clean step deploy.erase_devices failed on node node-7. /dev/sda is frozen
}
