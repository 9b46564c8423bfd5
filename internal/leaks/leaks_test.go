// SPDX-License-Identifier: Apache-2.0

//go:build linux

package leaks

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

func TestNoPackageAsksGoleakItself(t *testing.T) {
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			var text []byte
			text, err = os.ReadFile(path)
			require.NotContains(t, string(text), "goleak"+".Verify", "%s is to call leaks.Main or leaks.Check", path)
		}
		return err
	}))
}

func TestABlockedGoroutineIsALeak(t *testing.T) {
	end := make(chan struct{})
	go func() { <-end }()
	require.ErrorContains(t, find(), "TestABlockedGoroutineIsALeak")
	close(end)
	require.NoError(t, find())
}

func TestAGoroutineThatRunsIsWaitedFor(t *testing.T) {
	var end atomic.Bool
	go func() {
		for !end.Load() {
			runtime.Gosched()
		}
	}()
	go func() {
		time.Sleep(looks * 600 * time.Millisecond)
		end.Store(true)
	}()
	require.NoError(t, find())
}

// A listener whose queue is full makes the kernel of a client send its first packet again after a second.
// Until then nothing ends the dial, not even the end of the listener.
func TestADialIsWaitedFor(t *testing.T) {
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	host := [4]byte{127, 77, 0, 1} // no other program gets a port there after the listener has closed its own
	require.NoError(t, syscall.Bind(listener, &syscall.SockaddrInet4{Addr: host}))
	require.NoError(t, syscall.Listen(listener, 0))
	bound, err := syscall.Getsockname(listener)
	require.NoError(t, err)
	address := (&net.TCPAddr{IP: host[:], Port: bound.(*syscall.SockaddrInet4).Port}).String()

	filler, err := net.Dial("tcp", address) // the queue has one place
	require.NoError(t, err)
	require.NoError(t, filler.Close())
	ended := make(chan error, 1)
	go func() {
		_, err := net.Dial("tcp", address)
		ended <- err
	}()
	for stacks := make([]byte, 1<<20); !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "net.(*netFD).connect("); {
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, syscall.Close(listener))
	require.NoError(t, find())
	require.ErrorIs(t, <-ended, syscall.ECONNREFUSED)
}
