// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
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
	bmc.ShortenPause()
	leaks.Main(m)
}

// grace is the factor of the grace times, so that a log-out succeeds however slow the machine is.
const grace = 1000

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
		Timeout:         time.Hour, // a slow machine is no fault of the BMC
	}
}

// setHeader sets a header of the proper answer.
func setHeader(name, value string) bmctest.Effect {
	return bmctest.Change(fmt.Sprintf("setHeader(%q, %q)", name, value), func(h http.Header, body []byte) []byte {
		h.Set(name, value)
		return body
	})
}

// deadline is a context that ends as by a deadline when the test calls pass.
type deadline struct {
	context.Context
	passed chan struct{}
	pass   func()
}

func newDeadline(t *testing.T) deadline {
	passed := make(chan struct{})
	return deadline{t.Context(), passed, sync.OnceFunc(func() { close(passed) })}
}

func (d deadline) Done() <-chan struct{} { return d.passed }

func (d deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func newVerifier(t *testing.T, config bmc.Config) verify.Verifier {
	t.Helper()
	v, err := bmc.New(config)
	require.NoError(t, err)
	return v
}
