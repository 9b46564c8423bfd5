// SPDX-License-Identifier: Apache-2.0

package ipmitool

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// listener is a UDP port that answers as a test says.
type listener struct {
	conn     *net.UDPConn
	requests chan []byte // those received
}

// listen opens a port. answers returns the answers to the nth request, from 1.
func listen(t *testing.T, answers func(n int, request []byte) [][]byte) *listener {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	l := &listener{conn, make(chan []byte, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		packet := make([]byte, 512)
		for i := 1; ; i++ {
			n, client, err := conn.ReadFromUDP(packet)
			if err != nil {
				return
			}
			l.requests <- append([]byte(nil), packet[:n]...)
			for _, answer := range answers(i, append([]byte(nil), packet[:n]...)) {
				_, _ = conn.WriteToUDP(answer, client)
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		<-ended
	})
	return l
}

func (l *listener) address() string { return l.conn.LocalAddr().String() }

// toVerify returns the error as callers of package bmc get it.
func toVerify(t *testing.T, err error) error {
	t.Helper()
	var known *failure.Error
	require.True(t, errors.As(err, &known), "%v", err)
	return &verify.Error{Kind: known.Kind, Err: known}
}

func TestAnAnswerOfIPMIEndsTheProbe(t *testing.T) {
	for name, answer := range map[string]func(request []byte) [][]byte{
		"an answer":                 func(r []byte) [][]byte { return [][]byte{append(r, 0)} },
		"an answer with a sequence": func(r []byte) [][]byte { r[2] = 1; return [][]byte{append(r, 0)} },
		"noise before the answer": func(r []byte) [][]byte {
			return [][]byte{{1}, []byte("noise of more bytes than an answer"), append(r, 0)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, func(n int, request []byte) [][]byte {
				if n > 1 {
					return nil
				}
				return answer(request)
			})
			require.NoError(t, probe(t.Context(), l.address(), time.Hour))
			require.Equal(t, capabilitiesRequest, <-l.requests)
		})
	}
}

func TestAnAnswerIsAPacketOfIPMIThatIsLongerThanTheRequest(t *testing.T) {
	answer := append(slices.Clone(capabilitiesRequest), 0)
	require.True(t, isAnswer(answer))
	with := func(at int, value byte) []byte {
		other := slices.Clone(answer)
		other[at] = value
		return other
	}
	require.True(t, isAnswer(with(2, 1)), "a sequence")
	for name, packet := range map[string][]byte{
		"nothing": nil, "a part": answer[:3], "the request": capabilitiesRequest, "another version": with(0, 7),
		"another byte that is reserved": with(1, 1), "another class": with(3, 6), "a request of ASF": with(3, 0x86),
	} {
		require.False(t, isAnswer(packet), name)
	}
}

func TestAProbeIsRepeatedIfTheAnswerIsNotOfIPMI(t *testing.T) {
	for name, answer := range map[string]func(request []byte) []byte{
		"nothing":                      func([]byte) []byte { return nil },
		"an answer without content":    func(r []byte) []byte { return r },
		"a few bytes":                  func(r []byte) []byte { return r[:2] },
		"an answer of another version": func(r []byte) []byte { r[0]++; return append(r, 0) },
		"an answer of another class":   func(r []byte) []byte { r[3]--; return append(r, 0) },
		"noise":                        func([]byte) []byte { return []byte("noise of more bytes than an answer") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, func(n int, request []byte) [][]byte {
				if n == 1 {
					return [][]byte{answer(request)}
				}
				return [][]byte{append(request, 0)}
			})
			require.NoError(t, probe(t.Context(), l.address(), time.Millisecond, time.Hour))
		})
	}
}

func TestASilentBMCIsProbedFourTimes(t *testing.T) {
	t.Parallel()
	l := listen(t, func(int, []byte) [][]byte { return nil })
	address := l.conn.LocalAddr().(*net.UDPAddr)
	tool := Tool{Host: address.IP.String(), Port: address.Port, ProbeWait: time.Millisecond}
	err := tool.probe(t.Context())
	require.Equal(t, verify.Timeout, verify.KindOf(toVerify(t, err)))
	require.ErrorIs(t, err, errNoAnswer)

	last, err := net.Dial("udp", l.address())
	require.NoError(t, err)
	defer last.Close()
	_, err = last.Write([]byte("the last packet"))
	require.NoError(t, err)
	for range 4 {
		require.Equal(t, capabilitiesRequest, <-l.requests)
	}
	require.Equal(t, []byte("the last packet"), <-l.requests)
}

func TestAProbeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := listen(t, func(int, []byte) [][]byte { cancel(); return nil })
	require.ErrorIs(t, probe(ctx, l.address(), time.Hour), context.Canceled)
}

func TestAClosedPortIsUnreachable(t *testing.T) {
	t.Parallel()
	err := probe(t.Context(), "127.0.0.1:1", time.Hour)
	require.Equal(t, verify.Unreachable, verify.KindOf(toVerify(t, err)))
	require.ErrorContains(t, err, "connection refused")
}

func TestAnAddressWithoutAPortIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, probe(t.Context(), "127.0.0.1", time.Minute), "missing port in address")
}
