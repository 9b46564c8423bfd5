// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"net"
	"os"
	"syscall"
)

// hold binds an address without listening on it, so that the kernel gives its port to no other socket of any process.
// A listener can share the port, because both have SO_REUSEADDR and one of them does not listen. Port 0 stands for a
// free one. hold returns the address with its port, and closes the socket when release is called. An address without
// an IP is not held.
func hold(addr *net.TCPAddr) (held *net.TCPAddr, release func() error, err error) {
	if addr.IP == nil {
		return addr, func() error { return nil }, nil
	}
	var at syscall.Sockaddr
	family := syscall.AF_INET
	if ip := addr.IP.To4(); ip != nil {
		at = &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	} else {
		family, at = syscall.AF_INET6, &syscall.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socket", err)
	}
	release = func() error { return os.NewSyscallError("close", syscall.Close(fd)) }
	if err := bind(fd, at); err != nil {
		_ = release()
		return nil, nil, err
	}
	port, err := portOf(fd)
	if err != nil {
		_ = release()
		return nil, nil, err
	}
	return &net.TCPAddr{IP: addr.IP, Port: port, Zone: addr.Zone}, release, nil
}

func bind(fd int, at syscall.Sockaddr) error {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	return os.NewSyscallError("bind", syscall.Bind(fd, at))
}

// portOf returns the port to which a socket is bound.
func portOf(fd int) (int, error) {
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	if name, ok := name.(*syscall.SockaddrInet6); ok {
		return name.Port, nil
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}
