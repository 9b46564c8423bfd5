// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestMain(m *testing.M) {
	// The parallel tests mostly wait for BMCs that do not answer; -parallel overrides the number.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	bmc.LengthenGrace(grace)
	bmc.ShortenBusy()
	leaks.Main(m)
}

// grace is the factor of the grace times, so that a log-out succeeds also on a machine with much other work.
const grace = 5

const (
	user     = "admin"
	password = "correct+horse/1" // URLs and base64 write it otherwise
	wrong    = "wrong+horse/&"
)

// startRedfish starts a BMC that is on and accepts user and password.
func startRedfish(t *testing.T, set ...func(*bmctest.RedfishConfig)) *bmctest.Redfish {
	t.Helper()
	config := bmctest.RedfishConfig{
		Users:   map[string]secret.Text{user: secret.New(password)},
		Systems: []bmctest.System{{ID: "1", Power: "On"}},
	}
	for _, s := range set {
		s(&config)
	}
	server, err := bmctest.NewRedfish(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// configOf returns the configuration of a Redfish BMC, with its certificate authority.
func configOf(server *bmctest.Redfish) bmc.Config {
	return bmc.Config{
		Host:            server.Host,
		CheckManagement: true,
		RedfishPort:     server.Port,
		RootCAs:         server.CertPool,
		User:            user,
		Password:        secret.New(password),
		Protocol:        "redfish",
		Timeout:         time.Minute, // a slow machine is no fault of the BMC
	}
}

func newVerifier(t *testing.T, config bmc.Config) verify.Verifier {
	t.Helper()
	v, err := bmc.New(config)
	require.NoError(t, err)
	return v
}
