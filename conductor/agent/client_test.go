// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/verify/secret"
)

const (
	token = "TOKEN-TOKEN-TOKEN-TOKEN-TOKEN-TOKEN-TOKEN-1"
	node  = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
)

// server is an agent that answers as a test says. It records the requests.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method, path, query, body
	answer   func(w http.ResponseWriter, r *http.Request, body string)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has sent no complete command
	}
	s.mu.Lock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s %s", r.Method, r.URL, body))
	s.mu.Unlock()
	s.answer(w, r, string(body))
}

func (s *server) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// listen starts an agent and returns it with a client.
func listen(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string)) (*server, *agent.Client) {
	s := &server{answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s, connect(t, agent.Config{URL: s.URL})
}

func connect(t *testing.T, c agent.Config) *agent.Client {
	t.Helper()
	c.Token, c.Node = secret.New(token), node
	client, err := agent.New(c)
	require.NoError(t, err)
	return client
}

// always answers every request in the same way.
func always(status int, text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

const running = `{"id": "1", "command_name": "execute_clean_step", "command_status": "RUNNING", "command_error": null, ` +
	`"command_result": null}`

var erase = agent.Step{StepName: agent.StepName{Interface: "deploy", Step: "erase_devices"}, Priority: 10, Abortable: true,
	RequiresRamdisk: true}

func execute(ctx context.Context, c *agent.Client) (agent.Command, error) {
	return c.Execute(ctx, agent.Clean, erase, map[string]any{"generic": "1.1"}, agent.Machine{Node: map[string]any{"uuid": node}})
}

func TestCommandsMatchTheRecordedExchange(t *testing.T) {
	s, c := listen(t, func(w http.ResponseWriter, r *http.Request, body string) {
		require.Equal(t, "application/json", r.Header.Get("Content-Type"))
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"commands": [`+running+`]}`)
		case strings.Contains(body, "get_clean_steps"):
			_, _ = io.WriteString(w, `{"id": "ID1", "command_name": "get_clean_steps", "command_status": "SUCCEEDED", "command_error": null,
				"command_result": {"clean_steps": {"SimHardwareManager": [
				{"step": "erase_devices", "priority": 10, "interface": "deploy", "reboot_requested": false, "abortable": true},
				{"step": "burnin_cpu", "priority": 0, "interface": "deploy", "reboot_requested": true, "abortable": true,
				"argsinfo": {"time": {"description": "seconds", "required": true}}}]},
				"hardware_manager_version": {"sim_hardware_manager": "1", "generic_hardware_manager": "1.1"}}}`)
		default:
			_, _ = io.WriteString(w, running)
		}
	})
	machine := agent.Machine{Node: map[string]any{"uuid": node}, Ports: []any{map[string]any{"address": "52:54:00:00:00:01"}}}
	steps, err := c.Steps(t.Context(), agent.Clean, machine)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"sim_hardware_manager": "1", "generic_hardware_manager": "1.1"}, steps.Versions)
	burnin := agent.Step{StepName: agent.StepName{Interface: "deploy", Step: "burnin_cpu"}, RebootRequested: true,
		Abortable: true, RequiresRamdisk: true,
		ArgsInfo: map[string]agent.Info{"time": {Description: "seconds", Required: true}}}
	require.Equal(t, []agent.Step{erase, burnin}, steps.Steps)
	command, err := c.Execute(t.Context(), agent.Clean, steps.Steps[0], steps.Versions, machine)
	require.NoError(t, err)
	require.Equal(t, agent.Command{ID: "1", Name: "execute_clean_step", Status: agent.Running, Error: json.RawMessage("null"),
		Result: json.RawMessage("null")}, command)
	commands, err := c.Commands(t.Context())
	require.NoError(t, err)
	require.Equal(t, []agent.Command{command}, commands)
	record := `"node":{"uuid":"` + node + `"},"ports":[{"address":"52:54:00:00:00:01"}]`
	require.Equal(t, []string{
		"POST /v1/commands/?agent_token=" + token + `&wait=true {"name":"clean.get_clean_steps","params":{` + record + `}}`,
		"POST /v1/commands/?agent_token=" + token +
			`&wait=false {"name":"clean.execute_clean_step","params":{"clean_version":` +
			`{"generic_hardware_manager":"1.1","sim_hardware_manager":"1"},` + record +
			`,"step":{"interface":"deploy","step":"erase_devices","priority":10,"abortable":true,"requires_ramdisk":true}}}`,
		"GET /v1/commands/?agent_token=" + token + " ",
	}, s.sent())
}

func TestABusyAgentIsToldByItsStatusOrItsWords(t *testing.T) {
	for _, test := range []struct {
		status int
		text   string
	}{
		{http.StatusConflict, `{"faultcode": "Client", "faultstring": "anything"}`},
		{http.StatusInternalServerError, `{"faultcode": "Server", "faultstring": "Agent is busy: executing command erase"}`},
	} {
		s, c := listen(t, always(test.status, test.text))
		_, err := execute(t.Context(), c)
		require.ErrorIs(t, err, agent.ErrBusy)
		require.Contains(t, err.Error(), "Node "+node+` command "clean.execute_clean_step" failed. Agent is presently executing a command.`)
		require.Len(t, s.sent(), 1, "it is not sent again")
	}
}

// nobody is an address at which nobody listens. A port that was closed may be given to another program.
const nobody = "http://127.0.0.1:1"

func TestAnswersThatAreNone(t *testing.T) {
	_, c := listen(t, always(http.StatusMultipleChoices, `{"faultstring": "choose"}`))
	_, err := execute(t.Context(), c)
	require.ErrorIs(t, err, agent.ErrRefused)

	_, c = listen(t, always(http.StatusOK, `{"command_name": "execute_clean_step"}`))
	_, err = execute(t.Context(), c)
	require.ErrorIs(t, err, agent.ErrAnswer)
	require.ErrorContains(t, err, "it has no status")

	c, err = agent.New(agent.Config{URL: nobody})
	require.NoError(t, err)
	require.ErrorIs(t, c.Sync(t.Context()), agent.ErrConnection)
	require.ErrorIs(t, c.FinalizeRescue(t.Context(), "hash"), agent.ErrConnection)
}

func TestAMachineWithoutPortsAndAnAgentWithoutAToken(t *testing.T) {
	const versions = `{"generic": 1.10}`
	s, _ := listen(t,
		always(200, `{"command_status": "SUCCEEDED", "command_result": {"clean_steps": {}, "hardware_manager_version": `+versions+`}}`))
	c, err := agent.New(agent.Config{URL: s.URL})
	require.NoError(t, err)
	_, _ = c.Commands(t.Context())
	steps, err := c.Steps(t.Context(), agent.Clean, agent.Machine{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"generic": json.Number("1.10")}, steps.Versions, "they are sent back as they came")
	require.Equal(t, []string{"GET /v1/commands/ ",
		`POST /v1/commands/?wait=true {"name":"clean.get_clean_steps","params":{"node":null,"ports":[]}}`}, s.sent())
}

func TestACommandNeedsThePermissionOfItsContext(t *testing.T) {
	s, c := listen(t, always(200, running))
	lost := errors.New("the reservation was lost")
	ctx := fence.With(t.Context(), func(context.Context) error { return lost })
	_, err := execute(ctx, c)
	require.ErrorIs(t, err, lost)
	require.Empty(t, s.sent(), "the agent has received no command")
	_, err = c.Commands(ctx)
	require.ErrorIs(t, err, agent.ErrAnswer, "an answer without a list is not an empty list")
	require.Len(t, s.sent(), 1, "a question needs no permission")
}

func TestAnAgentThatDoesNotKnowTheBootModeIsAskedWithoutIt(t *testing.T) {
	s, c := listen(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, "target_boot_mode") {
			_, _ = io.WriteString(w, `{"command_name": "install_bootloader", "command_status": "FAILED", `+
				`"command_error": {"type": "TypeError", "code": 500, "details": "unexpected keyword"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"command_name": "install_bootloader", "command_status": "SUCCEEDED"}`)
	})
	require.NoError(t, c.InstallBootloader(t.Context(), agent.Bootloader{PartitionUUIDs: agent.PartitionUUIDs{Root: "r"}, BootMode: "bios"}))
	require.Len(t, s.sent(), 2)
	require.Contains(t, s.sent()[1], `"params":{"efi_system_part_uuid":null,"prep_boot_part_uuid":null,"root_uuid":"r"}`)

	require.NoError(t, c.InstallBootloader(t.Context(), agent.Bootloader{BootMode: "bios", SoftwareRAID: true}))
	require.Len(t, s.sent(), 4)
	require.ErrorIs(t, c.InstallBootloader(t.Context(), agent.Bootloader{BootMode: "uefi", SoftwareRAID: true}), agent.ErrRefused)
	require.Len(t, s.sent(), 5, "a boot loader for BIOS would be installed")
}

func TestPartitionsOfTheRecordedExchange(t *testing.T) {
	_, c := listen(t,
		always(200, `{"id": "ID6", "command_name": "get_partition_uuids", "command_status": "SUCCEEDED", "command_error": null, `+
			`"command_result": {"root uuid": "0x6f7cc4a8"}}`))
	p, err := c.PartitionUUIDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, agent.PartitionUUIDs{Root: "0x6f7cc4a8"}, p)
}

// FuzzAnswers lets an agent answer anything.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		running, `{"commands": [` + running + `]}`, `[]`, `{`, `{"command_error": {"type": "TypeError", "code": {}}}`,
		`{"command_status": "SUCCEEDED", "command_result": {"clean_steps": {"M": [1]}, "hardware_manager_version": 1}}`,
	} {
		f.Add(200, []byte(seed))
		f.Add(409, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		_, c := listen(t, always(status, string(body)))
		_, _ = c.Steps(t.Context(), agent.Clean, agent.Machine{})
		_, _ = c.PartitionUUIDs(t.Context())
		_, _ = execute(t.Context(), c)
		commands, _ := c.Commands(t.Context())
		_, reason := agent.Judge(agent.Clean, node, agent.Current{Sent: true}, commands)
		require.Less(t, len(reason), 2300)
	})
}

// A loop of no attempts would be a success without a request.
func TestNegativeNumbersAreRefused(t *testing.T) {
	for field, config := range map[string]agent.Config{
		"Timeout": {Timeout: -1}, "Attempts": {Attempts: -1}, "PollInterval": {PollInterval: -1}, "Polls": {Polls: -1},
		"MaxAnswer": {MaxAnswer: -1},
	} {
		config.URL = "http://127.0.0.1:9999"
		_, err := agent.New(config)
		require.EqualError(t, err, "agent: "+field+" is -1: want 0 or more")
	}
	for range 20 { // of several the same
		_, err := agent.New(agent.Config{URL: "http://127.0.0.1:9999", Timeout: -1, Attempts: -1, Polls: -1})
		require.ErrorContains(t, err, "Attempts")
	}
}

func TestAnAgentHasTLS1_2AtLeast(t *testing.T) {
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"commands": []}`)
		}))
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		c := connect(t, agent.Config{URL: s.URL, SkipVerify: true})
		_, err := c.Commands(t.Context())
		require.Equal(t, ok, err == nil, "%x: %v", version, err)
		s.Close()
	}
}
