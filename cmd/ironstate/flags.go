// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/states"
)

// options are the parsed flags.
type options struct {
	listen          string
	data            string
	cluster         cluster
	backups         backupFlags // if one is set, no service is started
	images          imageFlags
	series          states.Series
	name, group     string
	automatedClean  bool
	resumeVerify    bool
	checkInterval   time.Duration
	work            workFlags
	power           powerFlags
	fakeDelay       time.Duration
	fakeRestart     bool
	demo            int
	users           users // nil for no authentication
	tlsCert, tlsKey string
	insecure        bool
	shutdownTimeout time.Duration
	otlp            string // the URL of the trace collector
	logLevel        slog.Level
}

// maxDemo bounds the number of built-in BMCs.
const maxDemo = 100

// parse returns the options, or a usage error.
func parse(args []string, errOut io.Writer) (*options, error) {
	o := &options{series: states.Latest(), logLevel: slog.LevelWarn}
	flags := flag.NewFlagSet("ironstate", flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`host:port` to listen on; port 0 chooses a free one")
	flags.StringVar(&o.data, "data", "", "`folder` in which the nodes are stored; empty stores them in memory")
	o.cluster.define(flags)
	o.backups.define(flags)
	o.images.define(flags)
	flags.TextVar(&o.series, "series", o.series, "OpenStack `series` whose rules and API versions apply, such as 2023.1")
	flags.StringVar(&o.name, "name", "", "the conductor's `name`, the same after a restart; empty stands for the host name")
	flags.StringVar(&o.group, "group", "", "conductor `group`: the conductor manages the nodes of this group")
	flags.BoolVar(&o.automatedClean, "automated-clean", true, "clean nodes before they become available; nodes of redfish and ipmi that do not use the agent have no steps for it, and need -automated-clean=false or automated_clean false")
	flags.BoolVar(&o.resumeVerify, "resume-verification", false, "restart a verification whose conductor has died, instead of failing it")
	flags.DurationVar(&o.checkInterval, "check-interval", time.Minute, "`time` between two checks of all nodes for timeouts and for work that no conductor has started")
	o.work.define(flags)
	o.power.define(flags)
	flags.DurationVar(&o.fakeDelay, "fake-delay", 0, "maximum `time` of an operation on fake-hardware; each takes a random part of it")
	flags.BoolVar(&o.fakeRestart, "fake-restart", false, "end each step of fake-hardware with a restart of the machine")
	flags.IntVar(&o.demo, "demo", 3, "`number` of built-in Redfish BMCs that are enrolled as an example; 0 for none, as without this flag with -data, -etcd or -cluster")
	auth := flags.String("auth-file", "", "`file` of users with bcrypt hashes, as htpasswd -B writes it; clients then need HTTP Basic authentication")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "`file` of the server's certificate and its chain, in PEM")
	flags.StringVar(&o.tlsKey, "tls-key", "", "`file` of the certificate's key, in PEM")
	flags.BoolVar(&o.insecure, "insecure-listen-without-auth-and-tls", false, "listen beyond the loopback interface although everyone there can then send any request, or read passwords")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 5*time.Second, "`time` that work in flight may continue after SIGTERM")
	flags.StringVar(&o.otlp, "otlp", "", "`URL` of an OpenTelemetry collector that receives traces by OTLP over HTTP; empty stands for OTEL_EXPORTER_OTLP_ENDPOINT; tracing is off without either")
	flags.TextVar(&o.logLevel, "log-level", o.logLevel, "`level` of the log on standard error: DEBUG, INFO, WARN or ERROR")
	if err := program.Parse(flags, args, errOut); err != nil {
		return nil, err
	}
	demo := false
	flags.Visit(func(f *flag.Flag) { demo = demo || f.Name == "demo" })
	if !demo && (o.data != "" || o.cluster.shared()) {
		o.demo = 0
	}
	if err := program.Between("demo", o.demo, 0, maxDemo); err != nil {
		return nil, err
	}
	if err := o.cluster.check(o.name, o.data); err != nil {
		return nil, err
	}
	if err := o.backups.check(o); err != nil {
		return nil, err
	}
	if err := o.images.check(); err != nil {
		return nil, err
	}
	if (o.tlsCert == "") != (o.tlsKey == "") {
		return nil, program.Usagef("-tls-cert and -tls-key need each other: one of them is missing")
	}
	if o.shutdownTimeout <= 0 {
		return nil, program.Usagef("-shutdown-timeout is %v: want more than 0", o.shutdownTimeout)
	}
	if o.checkInterval <= 0 {
		return nil, program.Usagef("-check-interval is %v: want more than 0", o.checkInterval)
	}
	if err := o.power.check(); err != nil {
		return nil, err
	}
	if o.fakeDelay < 0 {
		return nil, program.Usagef("-fake-delay is %v: want 0 or more", o.fakeDelay)
	}
	if *auth != "" {
		var err error
		if o.users, err = readUsers(*auth); err != nil {
			return nil, err
		}
	}
	return o, o.checkListen()
}

// checkListen refuses a non-loopback address without authentication and TLS.
func (o *options) checkListen() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return program.Usagef("-listen is %q: want host:port, such as 127.0.0.1:6385", o.listen)
	}
	if o.insecure || isLoopback(host) || o.users != nil && o.tlsCert != "" {
		return nil
	}
	return program.Usagef("-listen is %q, which others can reach: give -auth-file, -tls-cert and -tls-key as well, or -insecure-listen-without-auth-and-tls", o.listen)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var errNoUsers = errors.New("the file has no users")
