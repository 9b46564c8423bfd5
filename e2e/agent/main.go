// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/e2e/internal/build"
	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// options are the program's flags.
type options struct {
	agent  string // folder of the agent's source
	boot   string // boot interface
	series string
	format string // of the image
	plain  bool   // the agent's API without TLS
	fast   bool   // fast track
	// partition is whether the image is one of a partition.
	partition bool
	folder    string
}

func main() { program.Main("agent", run) }

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	var o options
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&o.agent, "agent", "", "`folder` with a clone of ironic-python-agent, or with a Debian that has its package; required")
	flags.StringVar(&o.boot, "boot", "ipxe", "boot `interface` of the machine: ipxe or redfish-virtual-media")
	flags.StringVar(&o.series, "series", "2026.2", "OpenStack `series` of the conductor, from 2023.2 on")
	flags.StringVar(&o.format, "format", "raw", "`format` of the image: raw or qcow2")
	flags.BoolVar(&o.plain, "plain", false, "let the agent serve its API without TLS")
	flags.BoolVar(&o.fast, "fast-track", false, "let an agent that runs do the next work without a boot")
	flags.BoolVar(&o.partition, "partition", false,
		"deploy the image of a partition, in which the agent installs a boot loader, in place of one of a whole disk")
	flags.StringVar(&o.folder, "folder", "", "empty `folder` for the disk and all logs; by default a temporary one, which stays")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	switch {
	case o.agent == "":
		return program.Usagef("-agent is missing: want the folder of a clone of ironic-python-agent or of a Debian with it")
	case o.boot != "ipxe" && o.boot != virtualMedia:
		return program.Usagef("-boot is %q: want ipxe or %s", o.boot, virtualMedia)
	case o.format != "raw" && o.format != "qcow2":
		return program.Usagef("-format is %q: want raw or qcow2", o.format)
	case os.Geteuid() != 0:
		return errors.New("boot.sh makes a loop device and a mount namespace: run this program as root")
	}
	var err error
	if o.agent, err = filepath.Abs(o.agent); err != nil {
		return err
	}
	if o.folder == "" {
		o.folder, err = os.MkdirTemp("", "ironstate-agent-")
	} else {
		o.folder, err = filepath.Abs(o.folder)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the disk and all logs are in", o.folder)
	return try.Catch(func() { live(ctx, o, out) })
}

// live starts the service, the machine and its BMC, and takes the machine through its life.
func live(ctx context.Context, o options, out io.Writer) {
	files := filepath.Join(o.folder, "images")
	try.OK(os.MkdirAll(files, 0o700))
	for _, name := range []string{"kernel", "ramdisk"} { // a process boots in their place
		try.OK(os.WriteFile(filepath.Join(files, name), []byte(name), 0o600))
	}
	free := try.Get(freeport.Addresses(3))
	api, images, agent := free[0], free[1], free[2]
	stop := serve(ctx, o, "-listen", api, "-agent-network", "127.0.0.0/8", "-api-url", "http://"+api, "-image-listen", images,
		"-image-url", "http://"+images, "-image-folder", files, "-image-host", "127.0.0.1",
		"-deploy-kernel", "file://"+files+"/kernel", "-deploy-ramdisk", "file://"+files+"/ramdisk")
	defer stop()
	m := newMachine(o, "http://"+api, "http://"+images, agent)
	defer m.close()
	m.bmc = try.Get(bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1",
		Hardware: bmctest.Hardware{MACs: []string{mac}}, OnPower: m.power}}}))
	defer try.Finally(m.bmc.Close)
	listener := try.Get(net.Listen("tcp", "127.0.0.1:0"))
	web := &http.Server{Handler: http.FileServer(http.Dir(o.folder)), ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(listener) }()
	defer web.Close()
	l := &life{options: o, machine: m, out: out, api: "http://" + api + "/v1", files: "http://" + listener.Addr().String(), begun: time.Now()}
	l.run(ctx)
}

// serve builds and starts the program ironstate, and waits until it serves.
func serve(ctx context.Context, o options, args ...string) (stop func()) {
	binary := filepath.Join(o.folder, "ironstate")
	try.OK(build.Ironstate(ctx, binary))
	log := try.Get(os.Create(filepath.Join(o.folder, "ironstate.log")))
	defer log.Close() // the process has its own file descriptor
	args = append(args, "-demo", "0", "-series", o.series, "-log-level", "INFO", fmt.Sprintf("-agent-require-tls=%t", !o.plain))
	command := exec.Command(binary, args...)
	command.Stderr = log
	output := try.Get(command.StdoutPipe())
	try.OK(command.Start())
	stop = func() { _ = command.Process.Signal(syscall.SIGTERM); _ = command.Wait() }
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "listening on ") {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return stop
		}
	}
	stop()
	try.Failf("ironstate does not serve, see %s", log.Name())
	return nil
}
