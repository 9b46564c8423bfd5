// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ironstate/ironstate/internal/needs"
)

// terminal opens a pseudoterminal of 60 columns.
func terminal(t *testing.T) (ours, theirs *os.File) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	needs.Installed(t, err == nil, "the device /dev/ptmx")
	t.Cleanup(func() { _ = ours.Close() })
	fd := int(ours.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

func TestATerminalShowsTheProgress(t *testing.T) {
	ours, theirs := terminal(t)
	s := (&server{}).here(t, theirs, "-demo", "0", "-fake-delay", workThatDoesNotEnd, "-shutdown-timeout", "1ms")
	status, answer := s.do(http.MethodPost, "/v1/nodes", `{"name": "rack1-7", "driver": "fake-hardware"}`)
	require.Equal(t, http.StatusCreated, status, "%v", answer)
	s.provision("rack1-7", "manage")
	lines := bufio.NewReader(ours)
	for {
		text, err := lines.ReadString('s') // a line of the progress ends with seconds
		require.NoError(t, err)
		if _, line, _ := strings.Cut(text, "\x1b[K"); strings.HasPrefix(line, "1 at work: rack1-7 verifying ") {
			return
		}
	}
}
