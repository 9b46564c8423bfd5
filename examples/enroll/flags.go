package main

import (
	"cmp"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

type options struct {
	builtIn bool // no -bmc was given
	config  bmc.Config
}

// parseFlags reads the command line; the password comes from the environment or
// a file, never from a flag, which every user of the machine could read. For -h it
// writes the usage to help and returns [flag.ErrHelp].
func parseFlags(args []string, getenv func(string) string, help io.Writer) (options, error) {
	var (
		flags        = flag.NewFlagSet("enroll", flag.ContinueOnError)
		address      = flags.String("bmc", "", "the BMC to ask, `HOST[:PORT]`; without it two built-in ones are asked")
		user         = flags.String("user", "", "the `NAME` of a user of the BMC")
		passwordFile = flags.String("password-file", "", "a `FILE` with the password; otherwise $BMC_PASSWORD is used")
		protocol     = flags.String("protocol", "auto", "redfish, ipmi or auto: redfish, then ipmi where there is no redfish")
		timeout      = flags.Duration("timeout", 30*time.Second, "how long verification may take")
		ca           = flags.String("ca", "", "a PEM `FILE` with the authorities that may sign the BMC's certificate")
		insecure     = flags.Bool("insecure", false, "take any certificate")
	)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printUsage(flags, help)
		}
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("there is no argument %q: all is said with flags", flags.Arg(0))
	}
	if *address == "" {
		if flags.NFlag() > 0 {
			return options{}, errors.New("the flags are for a real BMC: name it with -bmc HOST[:PORT]")
		}
		return options{builtIn: true}, nil
	}

	config := bmc.Config{User: *user, Timeout: *timeout, InsecureSkipTLSVerify: *insecure}
	var errs [3]error
	config.Protocol = *protocol
	errs[0] = setAddress(&config, *address)
	config.Password, errs[1] = readPassword(*passwordFile, getenv)
	config.RootCAs, errs[2] = readCAs(*ca)
	if *timeout <= 0 {
		return options{}, fmt.Errorf("the timeout %v is not positive", *timeout)
	}
	return options{config: config}, cmp.Or(errs[:]...)
}

func printUsage(flags *flag.FlagSet, out io.Writer) {
	fmt.Fprintln(out, "usage: enroll [-bmc HOST[:PORT] -user NAME ...], the password in $BMC_PASSWORD or -password-file")
	flags.SetOutput(out)
	flags.PrintDefaults()
}

// setAddress splits HOST[:PORT]; the port is that of the protocol that is tried
// first.
func setAddress(config *bmc.Config, address string) error {
	config.Host = strings.Trim(address, "[]")
	host, digits, err := net.SplitHostPort(address)
	if err != nil || strings.Contains(address, "/") {
		return nil // no port; bmc.New checks the host
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return fmt.Errorf("the port in %q is not from 1 to 65535", address)
	}
	config.Host = host
	if config.Protocol == "ipmi" {
		config.IPMIPort = int(port)
	} else {
		config.RedfishPort = int(port)
	}
	return nil
}

func readPassword(file string, getenv func(string) string) (secret.Text, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		return secret.New(strings.TrimRight(string(text), "\r\n")), err
	}
	password := getenv("BMC_PASSWORD")
	if password == "" {
		return secret.Text{}, errors.New("there is no password: set BMC_PASSWORD or name a -password-file")
	}
	return secret.New(password), nil
}

func readCAs(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("there is no PEM certificate in %s", file)
	}
	return pool, nil
}
