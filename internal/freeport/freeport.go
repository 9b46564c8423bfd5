// SPDX-License-Identifier: Apache-2.0

// Package freeport finds ports for programs that cannot listen on port 0, because others
// must know their address before they start.
package freeport

import "net"

// Addresses returns different addresses of the loopback interface, such as
// "127.0.0.1:40321", on which nothing listens. Another process may take a port before the
// caller uses it.
func Addresses(n int) (free []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		free = append(free, l.Addr().String())
	}
	return free, nil
}
