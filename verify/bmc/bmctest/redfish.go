// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Redfish is a BMC that serves Redfish (DMTF DSP0266) over HTTPS. Make it with NewRedfish and Close it. It is safe for
// concurrent use; its fields must not be changed.
type Redfish struct {
	Addr string // host and port that the BMC listens on, such as "127.0.0.1:41253"
	Host string // the IP address of Addr
	Port int    // the TCP port of Addr
	URL  string // URL of the service root, such as "https://127.0.0.1:41253/redfish/v1/"

	// CertPool holds the certificate authority that the BMC's owner would trust, and CAPEM the same in PEM form, for
	// programs that need a file. With a "foreign CA" another authority has signed the BMC's certificate. Fingerprint is
	// the SHA-256 sum of the BMC's own certificate in DER form.
	CertPool    *x509.CertPool
	CAPEM       []byte
	Fingerprint [32]byte

	config RedfishConfig
	fixed  fixedResources
	certs  certificates
	server *http.Server
	done   chan struct{}  // closed by Close
	alive  sync.WaitGroup // every goroutine and open connection

	mu       sync.Mutex // guards the fields below
	closed   bool
	listener net.Listener
	release  func() error // ends the hold of the port
	port     portState
	conns    map[*conn]struct{}
	faults   []*activeFault
	systems  []*system
	slots    []*slot
	sessions []*session
	opened   int // sessions since the start

	events   events
	failures map[string]int
	logins   Logins
	requests []*Request
}

// Logins counts login attempts.
type Logins struct {
	// Attempts counts received credentials: a POST to the collection of sessions or a request with Basic authentication,
	// and with IPMI a RAKP message 1. A request with the token of a session does not count.
	Attempts int

	// Succeeded and Failed count the attempts whose credentials the BMC checked. An attempt that a Fault answered, or
	// that the client aborted, is neither.
	Succeeded, Failed int
}

// Request is a request that a Redfish BMC has received.
type Request struct {
	Method, Path string
	Status       int // the status that was sent; 0 until then, and always if a fault cut the response
}

// maxRequests bounds the length of the log of requests.
const maxRequests = 1000

// NewRedfish starts a BMC. The error names the invalid field of config, or says why the BMC cannot listen on its
// address.
func NewRedfish(config RedfishConfig) (*Redfish, error) {
	b, err := newRedfish(config)
	if err != nil {
		return nil, err
	}
	listener, err := b.listen()
	if err != nil {
		return nil, fmt.Errorf("bmctest: listen on %s: %w", b.config.Addr, err)
	}
	addr := listener.Addr().(*net.TCPAddr)
	b.Addr, b.Host, b.Port = addr.String(), addr.IP.String(), addr.Port
	b.URL = "https://" + b.Addr + rootPath + "/"
	b.build()
	if b.certs, err = newCertificates(b.config.Certificate, addr.IP, b.config.Authority); err != nil {
		return nil, errors.Join(err, listener.Close(), b.release())
	}
	b.CAPEM, b.Fingerprint = b.certs.caPEM, b.certs.fingerprint
	b.CertPool = x509.NewCertPool()
	b.CertPool.AppendCertsFromPEM(b.CAPEM)
	b.server = &http.Server{
		Handler:   http.HandlerFunc(b.serveHTTP),
		ConnState: b.countConn,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	b.serve(listener)
	for _, f := range b.config.Faults {
		b.AddFault(f)
	}
	return b, nil
}

// listen holds the port for the life of the BMC and listens on it.
func (b *Redfish) listen() (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", b.config.Addr)
	if err != nil {
		return nil, err
	}
	if addr, b.release, err = reservePort(addr); err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, errors.Join(err, b.release())
	}
	return listener, nil
}

// newRedfish makes a BMC that does not listen yet and has no resources; see build.
func newRedfish(config RedfishConfig) (*Redfish, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	b := &Redfish{
		config:   config,
		done:     make(chan struct{}),
		conns:    make(map[*conn]struct{}),
		failures: make(map[string]int),
	}
	return b, nil
}

// Close ends the BMC and all connections to it, including those that hang, and returns once its last goroutine has
// ended. A second Close does nothing.
func (b *Redfish) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	close(b.done)
	b.hangUp()
	b.mu.Unlock()
	err := errors.Join(b.server.Close(), b.release())
	b.alive.Wait()
	return err
}

// Client returns a new HTTP client that trusts CertPool and makes a new connection for each request. It has no timeout.
func (b *Redfish) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: b.CertPool},
		DisableKeepAlives: true,
	}}
}

// Power returns the power state of a system: "On", "Off", "PoweringOn", "PoweringOff" or the value of SetPower. It
// returns "" if there is no system with that ID.
func (b *Redfish) Power(systemID string) string {
	return ofSystem(b, systemID, func(s *system) string { return s.powerAt(time.Now()) })
}

// ofSystem returns a value of a system, the zero value if there is no system with that ID.
func ofSystem[T any](b *Redfish, systemID string, value func(*system) T) (none T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.system(systemID); s != nil {
		return value(s)
	}
	return none
}

// SetPower changes the power state of a system at once, like the power button of the machine: a system that is off and
// then "On" boots, and the changes that wait for that take effect. SetPower accepts any text, so that a test can show
// clients nonstandard states.
func (b *Redfish) SetPower(systemID, power string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.system(systemID)
	if s == nil {
		return fmt.Errorf("bmctest: set power %q: no system %q", power, systemID)
	}
	before := s.powerAt(time.Now())
	s.setPower(power)
	switch {
	case power == powerOff && !isOff(before):
		s.onPower(false, "", "")
	case power == powerOn && isOff(before):
		s.boots()
	}
	return nil
}

// Boot returns the boot override of a system in the words of the ComputerSystem schema: target, enabled and mode, such
// as "Pxe Once UEFI", or "None Disabled UEFI" if nothing is overridden. It returns "" if there is no system with that
// ID.
func (b *Redfish) Boot(systemID string) string {
	return ofSystem(b, systemID, func(s *system) string { return s.boot.Target + " " + s.boot.Enabled + " " + s.boot.Mode })
}

// NMIs returns how many nonmaskable interrupts a system has received.
func (b *Redfish) NMIs(systemID string) int {
	return ofSystem(b, systemID, func(s *system) int { return s.nmis })
}

// Sessions lists the IDs of the open sessions, oldest first.
func (b *Redfish) Sessions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireSessions()
	var ids []string
	for _, s := range b.sessions {
		ids = append(ids, s.id)
	}
	return ids
}

// Logins counts the login attempts since the start.
func (b *Redfish) Logins() Logins {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.logins
}

// Requests lists the last requests in the order of their arrival, at most a thousand.
func (b *Redfish) Requests() []Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests := make([]Request, len(b.requests))
	for i, r := range b.requests {
		requests[i] = *r
	}
	return requests
}
