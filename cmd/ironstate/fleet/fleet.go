// SPDX-License-Identifier: Apache-2.0

// Package fleet is the command "ironstate fleet": machines that an Ironic enrolls and installs, each with a Redfish BMC
// and an agent on a disk. The BMCs come from package bmctest, the machines from package agenttest.
package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/program"
)

// Run is the command, a [program.Func]. It returns once all machines have ended.
func Run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	f, err := start(ctx, o)
	if f == nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	f.greet(out)
	select {
	case err = <-f.failed:
	case <-ctx.Done():
	}
	return err
}

// fleet is a running fleet. Make it with start and close it.
type fleet struct {
	*shared
	machines []*machine
	url      string // of the page
	took     time.Duration
	iso      []byte // the image with an agent; nil if agents have no API

	server *http.Server
	served sync.WaitGroup
	failed chan error // of the server
}

// start starts a fleet and writes its files. It returns no fleet after an error, and none when the context ends before,
// which is no error.
func start(ctx context.Context, o *options) (*fleet, error) {
	f := &fleet{shared: &shared{options: o}, failed: make(chan error, 1)}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(program.Ended(ctx, err), f.close())
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context) (err error) {
	began := time.Now()
	if err := f.share(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(f.basePort)))
	if err != nil {
		return fmt.Errorf("listen for the page: %w", err)
	}
	defer func() {
		if err != nil {
			_ = listener.Close()
		}
	}()
	f.url = "http://" + listener.Addr().String()
	for n := range f.options.machines {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := newMachine(f.shared, n+1)
		if err != nil {
			return err
		}
		f.machines = append(f.machines, m)
	}
	if err := f.writeFiles(); err != nil {
		return err
	}
	f.serve(listener)
	f.took = time.Since(began)
	return nil
}

// share opens the folder, and reads or makes the password, the certificate authority and the roots that all machines
// use.
func (f *fleet) share() (err error) {
	if f.folder, err = openFolder(f.options.folder); err != nil {
		return err
	}
	if f.password, err = f.folder.password(f.passwordFile); err != nil {
		return err
	}
	if f.authority, err = f.folder.authority(); err != nil {
		return err
	}
	if f.caFile != "" {
		content, err := os.ReadFile(f.caFile)
		if err != nil {
			return fmt.Errorf("read the authorities of the API: %w", err)
		}
		f.roots = x509.NewCertPool()
		if !f.roots.AppendCertsFromPEM(content) {
			return program.Usagef("-api-ca: %s has no certificate in PEM", f.caFile)
		}
	}
	f.boots = &booter{api: f.api, client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.roots}}}}
	if f.api != "" {
		f.iso, err = agentISO(f.api, f.folder.path)
	}
	return err
}

// serve begins to serve the page.
func (f *fleet) serve(listener net.Listener) {
	f.server = &http.Server{Handler: f.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	f.served.Go(func() {
		if err := f.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.failed <- fmt.Errorf("serve the page: %w", err)
		}
	})
}

// close ends all machines, and removes a temporary folder.
func (f *fleet) close() error {
	var errs []error
	if f.server != nil {
		errs = append(errs, f.server.Close())
		f.served.Wait()
	}
	for _, m := range f.machines {
		errs = append(errs, m.close())
	}
	if f.boots != nil {
		f.boots.client.CloseIdleConnections()
	}
	return errors.Join(append(errs, f.folder.close())...)
}

// greet prints the addresses of the fleet and the commands to type next.
func (f *fleet) greet(out io.Writer) {
	first, last := f.machines[0], f.machines[len(f.machines)-1]
	fmt.Fprintf(out, "listening on %s\n\n%d machines, %s to %s, started in %v; BMCs from %s on; folder %s",
		f.url, len(f.machines), first.name, last.name, f.took.Round(time.Millisecond), first.bmc.Addr, f.folder.path)
	if f.folder.temporary {
		fmt.Fprint(out, " (removed at the end; -folder keeps it)")
	}
	fmt.Fprintf(out, `

What to type next, in another terminal, with OS_CLOUD or these for an Ironic without users:

    export OS_AUTH_TYPE=none OS_ENDPOINT=%s
    baremetal create %s
    baremetal node manage %s --wait && baremetal node provide %[3]s --wait

for metal3:

    kubectl apply -f %s

and in Go or Python, read %s.
`, cmp.Or(f.api, "..."), f.folder.file(nodesFile), first.name, f.folder.file(hostsFile), f.folder.file(machinesFile))
	if netip.MustParseAddr(f.host).IsLoopback() {
		fmt.Fprint(out, "\nironstate as the Ironic needs -agent-network 127.0.0.0/8 -image-host 127.0.0.1 for agents and images on this host.\n")
	}
	fmt.Fprintf(out, "\nThe machines are at %s/ in a browser, the metrics at %[1]s/metrics. Stop with Ctrl-C.\n", f.url)
}
