package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/url"
	"regexp"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

type options struct {
	demo     bool // no flag was given
	endpoint string
	node     string
	goal     plan.Goal
	policy   plan.Policy
	version  states.APIVersion // none stands for the highest that both sides support
	poll     time.Duration
	timeout  time.Duration
	backoff  backoff
	with     arguments
}

const negotiated = "negotiated"

// flagValues are the parsed flags, as text if check converts them.
type flagValues struct {
	options
	goal, api            string
	retries              uint
	mayAbort, mayDestroy bool
	clean, service       string
	passwordFile         string
}

func parseFlags(args []string, getenv func(string) string, errOut io.Writer) (options, error) {
	var (
		f     = flagValues{options: options{backoff: defaultBackoff}}
		flags = f.flags()
	)
	if err := program.Parse(flags, args, errOut); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printGoals(errOut)
		}
		return options{}, err
	}
	switch {
	case flags.NFlag() == 0:
		return options{demo: true}, nil
	case f.endpoint == "":
		return options{}, program.Usagef("the flags are for a real Ironic: name it with -endpoint URL")
	}
	opts, err := f.check(getenv)
	if err != nil {
		return options{}, program.Usagef("%w", err)
	}
	return opts, nil
}

func (f *flagValues) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("reconcile", flag.ContinueOnError)
	flags.StringVar(&f.endpoint, "endpoint", "",
		"the `URL` of an Ironic without authentication; without flags a built-in one is asked")
	flags.StringVar(&f.node, "node", "", "the `NAME` or UUID of the node")
	flags.StringVar(&f.goal, "goal", "active",
		"what the node shall come to, a `GOAL` such as active, available, manageable, cleaned")
	flags.BoolVar(&f.mayDestroy, "may-destroy", false, "a workload may be torn down or overwritten")
	flags.BoolVar(&f.mayAbort, "may-abort", false, "work that waits or is held may be ended")
	flags.UintVar(&f.retries, "retries", 0, "how often each kind of work may be tried again when it failed, 0 to 255")
	flags.StringVar(&f.api, "api", negotiated, "the API `VERSION` to speak, such as 1.81")
	flags.DurationVar(&f.poll, "poll", 2*time.Second, "how long to wait from one look at the node to the next")
	flags.DurationVar(&f.timeout, "timeout", time.Hour, "how long all may take")
	flags.StringVar(&f.clean, "clean-steps", "", "a JSON `FILE` with the steps of a manual cleaning, which the goal cleaned needs")
	flags.StringVar(&f.service, "service-steps", "", "a JSON `FILE` with the steps of a service, which the goal serviced needs")
	flags.StringVar(&f.passwordFile, "rescue-password-file", "",
		"a `FILE` with the password that the goal rescued needs; otherwise $RESCUE_PASSWORD is used")
	return flags
}

func printGoals(out io.Writer) {
	fmt.Fprintln(out, "the goals:")
	for goal := range plan.AllGoals() {
		fmt.Fprintln(out, " ", goal)
	}
}

// check returns the options of the flags, or an error if a flag is invalid.
func (f *flagValues) check(getenv func(string) string) (options, error) {
	var errs [5]error
	errs[0] = checkEndpoint(f.endpoint)
	errs[1] = checkNode(f.node)
	f.options.goal, errs[2] = plan.ParseGoal(f.goal)
	errs[3] = f.checkNumbers()
	if f.api != negotiated {
		f.version, errs[4] = parseVersion(f.api)
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return options{}, err
	}

	f.policy = plan.Policy{MayAbort: f.mayAbort, MayDestroy: f.mayDestroy, Retries: uint8(f.retries)}
	var err error
	f.with, err = readArguments(f, getenv)
	return f.options, err
}

func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return errors.New("the endpoint is not a URL")
	case u.User != nil:
		return errors.New("the endpoint names a user: this is for an Ironic without authentication")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return fmt.Errorf("the endpoint %q is not a URL such as http://127.0.0.1:6385", endpoint)
	default:
		return nil
	}
}

// nodeName matches the names that Ironic accepts, including UUIDs. They need no
// escaping in a URL.
var nodeName = regexp.MustCompile(`^[\w.~-]*\w[\w.~-]*$`)

func checkNode(name string) error {
	switch {
	case name == "":
		return errors.New("there is no node: name it with -node NAME")
	case !nodeName.MatchString(name):
		return fmt.Errorf("%q is not the name or the UUID of a node", name)
	default:
		return nil
	}
}

func (f *flagValues) checkNumbers() error {
	switch {
	case f.retries > math.MaxUint8:
		return fmt.Errorf("%d retries are more than %d", f.retries, math.MaxUint8)
	case f.poll <= 0:
		return fmt.Errorf("-poll %v is not positive", f.poll)
	case f.timeout <= 0:
		return fmt.Errorf("-timeout %v is not positive", f.timeout)
	default:
		return nil
	}
}

func parseVersion(text string) (states.APIVersion, error) {
	v, err := states.ParseAPIVersion(text)
	highest := states.Latest().MaxAPIVersion()
	if err != nil || v == states.NoAPIVersion || v > highest {
		return v, fmt.Errorf("-api %q is neither %q nor from 1.1 to %v", text, negotiated, highest)
	}
	return v, nil
}
