// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"net"
	"os"
	"syscall"
)

// reservePort binds an address without listening on it, so that the kernel gives its port to no other socket of any
// process. A listener can share the port, because both have SO_REUSEADDR and one of them does not listen. Port 0 stands
// for a free one. reservePort returns the address with its port, and closes the socket when release is called. It
// reserves nothing for an address without an IP.
func reservePort(addr *net.TCPAddr) (reserved *net.TCPAddr, release func() error, err error) {
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
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		err = os.NewSyscallError("bind", syscall.Bind(fd, at))
	}
	if err == nil {
		at, err = syscall.Getsockname(fd)
		err = os.NewSyscallError("getsockname", err)
	}
	if err != nil {
		_ = release()
		return nil, nil, err
	}
	port := 0
	switch at := at.(type) {
	case *syscall.SockaddrInet4:
		port = at.Port
	case *syscall.SockaddrInet6:
		port = at.Port
	}
	return &net.TCPAddr{IP: addr.IP, Port: port, Zone: addr.Zone}, release, nil
}
