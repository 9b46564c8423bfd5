// SPDX-License-Identifier: Apache-2.0

package ipmitool

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

const probeTries = 4

const errNoAnswer = failure.Reason("nothing answers to IPMI")

// capabilitiesRequest requests the authentication capabilities of the channel over which it is sent (IPMI 2.0, section
// 22.13). Every client sends it first, and every BMC answers it without a session.
var capabilitiesRequest = []byte{
	0x06, 0x00, 0xff, 0x07, // RMCP: version 1.0, no acknowledgement, class IPMI
	0x00, 0, 0, 0, 0, 0, 0, 0, 0, // IPMI session: none
	0x09,             // bytes that follow
	0x20, 0x18, 0xc8, // to the BMC, network function Application; checksum
	0x81, 0x00, 0x38, // from remote software; Get Channel Authentication Capabilities
	0x8e, 0x04, // this channel, with IPMI 2.0 data; administrator
	0xb5, // checksum
}

// probe checks whether a BMC answers IPMI requests, without credentials. It sends a request for each of the waits, and
// waits so long for its answer. The error is of the kind Unreachable if the host or the network refuses, Timeout if
// there is no answer.
func probe(ctx context.Context, address string, waits ...time.Duration) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err != nil {
		return failure.Of(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()

	for _, wait := range waits {
		err = probeOnce(conn, wait)
		var network net.Error
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return failure.Of(ctx.Err())
		case !errors.As(err, &network) || !network.Timeout():
			return failure.New(verify.Unreachable, err)
		}
	}
	return failure.New(verify.Timeout, errNoAnswer)
}

// probeOnce sends a request and waits for its answer.
func probeOnce(conn net.Conn, wait time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := conn.Write(capabilitiesRequest); err != nil {
		return err
	}
	answer := make([]byte, 512)
	for {
		n, err := conn.Read(answer)
		if err != nil {
			return err
		}
		if isAnswer(answer[:n]) {
			return nil
		}
	}
}

// isAnswer reports whether a packet is a BMC's: of RMCP and the class IPMI, and longer than the request, which others
// send back.
func isAnswer(packet []byte) bool {
	return len(packet) > len(capabilitiesRequest) && bytes.HasPrefix(packet, capabilitiesRequest[:2]) && packet[3] == capabilitiesRequest[3]
}
