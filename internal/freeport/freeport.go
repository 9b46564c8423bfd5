// SPDX-License-Identifier: Apache-2.0

// Package freeport finds ports for programs that cannot listen on port 0, because others
// must know their address before they start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports are below those that the kernel gives to outgoing connections, from 32768 on on Linux: one of these could
// take the port of a server that is restarted.
const (
	lowest = 20_000
	above  = 32_000
)

// attempts bounds the ports that are tried for one address.
const attempts = 1000

var (
	mu    sync.Mutex
	given = map[int]bool{} // the ports that this process has reserved
)

// Addresses returns addresses of the loopback interface, such as "127.0.0.1:20321", on which nothing listens. It never
// returns an address twice in a process, nor one that it has returned in another process that still runs. A process
// that does not call it may take a port before the caller uses it. Addresses is safe for concurrent use.
func Addresses(n int) (free []string, err error) {
	mu.Lock()
	defer mu.Unlock()
	for tried := 0; len(free) < n; tried++ {
		if tried == attempts*n {
			return nil, fmt.Errorf("no free port from %d to %d: tried %d", lowest, above-1, tried)
		}
		port := lowest + rand.IntN(above-lowest)
		if given[port] {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if !reserve(port) {
			continue
		}
		given[port] = true // also if others listen on it: the reservation ends with the process
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			free = append(free, address)
		}
	}
	return free, nil
}
