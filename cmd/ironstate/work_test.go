// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
)

func TestTheFlagsOfWorkAreParsed(t *testing.T) {
	o, err := parse([]string{"-clean-step-priority", "deploy.erase_devices:0", "-clean-step-priority", "raid.create_configuration:20"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"deploy.erase_devices": 0, "raid.create_configuration": 20}, o.work.priorities)
	require.Equal(t, machine.DefaultTimeouts(), o.work.timeouts)
	require.False(t, o.work.fastTrack)
	o, err = parse([]string{
		"-deploy-callback-timeout", "1s", "-clean-callback-timeout", "2s", "-inspect-wait-timeout", "3s", "-rescue-callback-timeout", "4s", "-service-callback-timeout", "0",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, machine.Timeouts{Deploy: time.Second, Clean: 2 * time.Second, Inspect: 3 * time.Second, Rescue: 4 * time.Second}, o.work.timeouts)
}

func TestACleaningWithoutAnAgentFailsAfterTheTimeOfTheFlag(t *testing.T) {
	s := serveProcess(t, "-demo", "0", "-clean-callback-timeout", "50ms", "-check-interval", "50ms")
	status, answer := s.do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware", "deploy_interface": "direct"}`)
	require.Equal(t, http.StatusCreated, status, "%v", answer)
	s.provision("one", "manage")
	s.waitFor("one", "manageable")
	s.provision("one", "provide")
	require.Equal(t, "Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is running on the node. Failed on step {}.", s.waitFor("one", "clean failed")["last_error"])
}
