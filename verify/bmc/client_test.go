// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"
	"github.com/jacobweinstock/registrar"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// rpcBMC is a consumer of bmclib's rpc provider.
type rpcBMC struct {
	mu     sync.Mutex
	asked  []rpc.Method
	answer func(rpc.Method) (status int, result any, fault string)
}

func (b *rpcBMC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var asked rpc.RequestPayload
	_ = json.NewDecoder(r.Body).Decode(&asked) // an empty method is not answered
	b.asked = append(b.asked, asked.Method)
	status, result, fault := b.answer(asked.Method)
	answer := rpc.ResponsePayload{ID: asked.ID, Host: asked.Host, Result: result}
	if fault != "" {
		answer.Error = &rpc.ResponseError{Code: 1, Message: fault}
	}
	body, _ := json.Marshal(answer)
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func rpcClient(url string) func() *bmclib.Client {
	return func() *bmclib.Client {
		return bmclib.NewClient("10.1.2.3", user, password, bmclib.WithRPCOpt(rpc.Provider{ConsumerURL: url}))
	}
}

func TestAClientOfBmclibIsAVerifier(t *testing.T) {
	word := "on"
	consumer := &rpcBMC{answer: func(rpc.Method) (int, any, string) { return 200, word, "" }}
	front := httptest.NewServer(consumer)
	defer front.Close()
	v := bmc.FromClient(rpcClient(front.URL))
	for _, test := range []struct {
		word string
		want states.Power
	}{{"on", states.PowerOn}, {"Off", states.PowerOff}, {"on", states.PowerOn}} {
		word, consumer.asked = test.word, nil
		node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
		require.NoError(t, err)
		power, err := verify.Manage(t.Context(), node, v)
		require.NoError(t, err)
		require.Equal(t, test.want, power)
		require.Equal(t, states.Manageable, node.Node().State)
		require.Equal(t, []rpc.Method{rpc.PingMethod, rpc.PowerGetMethod}, consumer.asked)
	}
}

func TestAnErrorOfAClientSaysWhichStepFailed(t *testing.T) {
	at := func(method rpc.Method, status int, result any, fault string) func(rpc.Method) (int, any, string) {
		return func(asked rpc.Method) (int, any, string) {
			if asked == method {
				return status, result, fault
			}
			return 200, "on", ""
		}
	}
	tests := map[string]struct {
		answer func(rpc.Method) (int, any, string)
		step   string
		kind   verify.Kind
	}{
		"no consumer":    {at(rpc.PingMethod, 500, nil, ""), "power interface", verify.Failed},
		"a refusal":      {at(rpc.PowerGetMethod, 200, nil, "no "+password), "power state", verify.Failed},
		"no such state":  {at(rpc.PowerGetMethod, 200, "paused by "+password, ""), "power state", verify.Unsupported},
		"not a word":     {at(rpc.PowerGetMethod, 200, 7, ""), "power state", verify.Failed},
		"an early end":   {at("", 0, nil, ""), "power interface", verify.Cancelled},
		"nobody listens": {nil, "power interface", verify.Unreachable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			front := httptest.NewServer(&rpcBMC{answer: test.answer})
			defer front.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url := front.URL
			if test.answer == nil {
				url = "http://127.0.0.1:1"
			}
			if test.kind == verify.Cancelled {
				cancel()
			}
			power, err := bmc.FromClient(rpcClient(url), secret.New(password)).Verify(ctx)
			require.Equal(t, states.NoPower, power)
			var failed *verify.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, test.step, failed.Op, "%v", err)
			require.Equal(t, test.kind, failed.Kind, "%v", err)
			require.NotContains(t, err.Error(), password)
		})
	}
}

// only returns a client of bmclib with one of its providers.
func only(name, host string, options ...bmclib.Option) func() *bmclib.Client {
	return func() *bmclib.Client {
		client := bmclib.NewClient(host, user, password, options...)
		client.Registry.Drivers = client.Registry.For(name)
		return client
	}
}

func TestALoginIsRefusedIfTheProviderSaysSo(t *testing.T) {
	status := http.StatusUnauthorized
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/Sessions") || r.URL.Path == "/api/session" {
			w.WriteHeader(status)
			return
		}
		_, _ = io.WriteString(w, `{"Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}`)
	}))
	defer front.Close()
	host, port, err := net.SplitHostPort(front.Listener.Addr().String())
	require.NoError(t, err)
	for _, test := range []struct {
		provider string
		status   int
		want     verify.Kind
	}{
		{"gofish", http.StatusUnauthorized, verify.Credentials},
		{"gofish", http.StatusServiceUnavailable, verify.Failed},
		{"asrockrack", http.StatusUnauthorized, verify.Credentials},
		{"asrockrack", http.StatusServiceUnavailable, verify.Failed},
		{"supermicro", http.StatusUnauthorized, verify.Failed}, // it says the same of a BMC that cannot be reached
	} {
		status = test.status
		options := []bmclib.Option{bmclib.WithRedfishPort(port), bmclib.WithAsrockrackPort(port)}
		_, err := bmc.FromClient(only(test.provider, host, options...)).Verify(t.Context())
		require.Equal(t, test.want, verify.KindOf(err), "%s, %d: %v", test.provider, test.status, err)
	}
}

// provider is a provider of bmclib whose power state cannot be read.
type provider struct{ closed bool }

func (*provider) Name() string               { return "test" }
func (*provider) Open(context.Context) error { return nil }
func (p *provider) Close(context.Context) error {
	p.closed = true
	return nil
}

func (*provider) PowerStateGet(context.Context) (string, error) { panic("no power") }

func TestAClientThatPanicsIsClosed(t *testing.T) {
	p := &provider{}
	v := bmc.FromClient(func() *bmclib.Client {
		registry := registrar.NewRegistry()
		registry.Register("test", "test", nil, nil, p)
		return bmclib.NewClient("host", user, password, bmclib.WithRegistry(registry))
	})
	_, err := v.Verify(t.Context())
	require.ErrorIs(t, err, verify.Panicked)
	require.True(t, p.closed)
}

// lateClient is a client that says nothing of the context in its error.
type lateClient struct{ cancel func() }

func (c lateClient) Open(context.Context) error {
	c.cancel()
	return errors.New("it does not work")
}
func (lateClient) GetPowerState(context.Context) (string, error) { return "on", nil }
func (lateClient) Close(context.Context) error                   { return nil }

func TestTheErrorOfAClientWhoseContextHasEndedIsTheContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := bmc.FromClient(func() lateClient { return lateClient{cancel} }).Verify(ctx)
	require.ErrorIs(t, err, verify.Cancelled)
	require.ErrorIs(t, err, context.Canceled)
	_, err = bmc.FromClient(func() lateClient { return lateClient{func() {}} }).Verify(t.Context())
	require.ErrorIs(t, err, verify.Failed)
	require.ErrorContains(t, err, "it does not work")
}

func TestAFunctionWithoutAClientIsAPanicThatIsAnError(t *testing.T) {
	_, err := bmc.FromClient(func() *bmclib.Client { return nil }).Verify(t.Context())
	require.ErrorIs(t, err, verify.Panicked)
}
