// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// What ipmitool 1.8.19 ("chassis power status") and ipmi_sim of OpenIPMI 2.0.33 said to each other, of which > is the
// client's.
//
//go:embed testdata/ipmi_power_status.txt
var recorded string

type datagram struct {
	client bool
	packet []byte
}

func exchange(t *testing.T) (all []datagram) {
	t.Helper()
	for line := range strings.Lines(recorded) {
		packet, err := hex.DecodeString(strings.TrimSpace(line[2:]))
		require.NoError(t, err)
		all = append(all, datagram{line[0] == '>', packet})
	}
	return all
}

// kinds are the messages of the exchange. The others are what ipmitool asks each BMC.
var kinds = []bmctest.IPMIMessage{
	bmctest.AuthCapabilities, bmctest.OpenSession, bmctest.RAKP1, bmctest.RAKP3, bmctest.SetPrivilege,
	0x2c3e, 0x0601, 0x2c00, 0x2c00, bmctest.ChassisStatus, 0x063c,
}

// replay sends the requests of the exchange to a relay with faults, and the BMC's answers to those that it gets. heard
// is told of each request to which the client gets no answer, or another than the proper one.
func replay(t *testing.T, talk *bmctest.Talk, heard func(kind bmctest.IPMIMessage, answer, proper []byte, passed bool)) {
	t.Helper()
	all := exchange(t)
	for i := 0; i < len(all); i += 2 {
		request, proper := all[i].packet, all[i+1].packet
		require.True(t, all[i].client && !all[i+1].client)
		answer, passes := talk.Request(bytes.Clone(request))
		if passes {
			require.Nil(t, answer)
			answer = talk.Answer(bytes.Clone(proper))
		}
		if !bytes.Equal(answer, proper) {
			heard(kinds[i/2], answer, proper, passes)
		}
	}
}

func TestARelayReadsASessionAndChangesNothing(t *testing.T) {
	talk := bmctest.NewTalk()
	for i, d := range exchange(t) {
		kind, _, known := talk.Read(d.packet)
		require.True(t, known)
		require.Equal(t, kinds[i/2], kind, "%d", i)
	}
	talk = bmctest.NewTalk(bmctest.IPMIFault{}, bmctest.IPMIFault{Do: bmctest.Unanswered(bmctest.SetBootOptions)})
	replay(t, talk, func(kind bmctest.IPMIMessage, answer, _ []byte, _ bool) {
		require.Fail(t, "another answer", "%v: %x", kind, answer)
	})
	require.Equal(t, bmctest.Logins{Attempts: 1, Succeeded: 1}, talk.Logins())
}

func TestAMessageIsNotAnswered(t *testing.T) {
	for _, kind := range kinds {
		for _, do := range []bmctest.IPMIEffect{bmctest.Unanswered(kind), bmctest.AnswerLost(kind)} {
			times := 0
			replay(t, bmctest.NewTalk(bmctest.IPMIFault{Times: 1, Do: do}), func(lost bmctest.IPMIMessage, answer, _ []byte, passed bool) {
				if lost == kind {
					times++
					require.Nil(t, answer)
					require.Equal(t, strings.HasPrefix(do.String(), "AnswerLost("), passed, "whether it is carried out")
				}
			})
			require.Equal(t, 1, times, do)
		}
	}
}

func TestARefusedCommandHasItsCompletionCodeAndIsNotCarriedOut(t *testing.T) {
	for _, test := range []struct {
		kind  bmctest.IPMIMessage
		head  string // of the answer: the addresses, the network function and the sequence number as of the request
		other int    // how many answers are not the proper ones, since those that follow have other sequence numbers
	}{
		{bmctest.AuthCapabilities, "811c63200038", 1}, {bmctest.SetPrivilege, "811c6320043b", 7}, {bmctest.ChassisStatus, "81047b201801", 2},
	} {
		talk := bmctest.NewTalk(bmctest.IPMIFault{Times: 1, Do: bmctest.Refused(test.kind, bmctest.NodeBusy)})
		refused, other := false, 0
		replay(t, talk, func(kind bmctest.IPMIMessage, answer, proper []byte, passed bool) {
			other++
			if kind == test.kind {
				require.False(t, passed)
				require.False(t, refused)
				refused = true
				_, body, known := talk.Read(answer)
				require.True(t, known)
				require.Equal(t, test.head+"c0", fmt.Sprintf("%x", body[:7]))
				require.Len(t, body, 8)
				require.Zero(t, sum(body[:3]))
				require.Zero(t, sum(body[3:]))
			}
			require.True(t, refused, "the answers before it are the BMC's")
			require.True(t, kind == test.kind || passed)
			if len(answer) > 30 { // in a session
				require.Equal(t, answer, talk.Resigned(answer), "the integrity check")
				number := proper[10]
				if passed {
					number++
				}
				require.Equal(t, number, answer[10], "the BMC continues the sequence numbers of the answer in its place")
			}
		})
		require.True(t, refused)
		require.Equal(t, test.other, other, "%v", test.kind)
	}
}

func sum(data []byte) (s byte) {
	for _, b := range data {
		s += b
	}
	return s
}

func TestARefusedSessionHasItsStatusCode(t *testing.T) {
	for kind, want := range map[bmctest.IPMIMessage]string{
		bmctest.OpenSession: "0600ff07061100000000000000000800" + "00010000a4a3a2a0",
		bmctest.RAKP1:       "0600ff07061300000000000000000800" + "00010000a4a3a2a0",
		bmctest.RAKP3:       "0600ff07061500000000000000000800" + "00010000a4a3a2a0",
	} {
		talk := bmctest.NewTalk(bmctest.IPMIFault{Do: bmctest.Refused(kind, bmctest.InsufficientResources)})
		refused := 0
		replay(t, talk, func(at bmctest.IPMIMessage, answer, _ []byte, passed bool) {
			if at == kind {
				refused++
				require.False(t, passed)
				require.Equal(t, want, hex.EncodeToString(answer))
			}
		})
		require.Equal(t, 1, refused, "%v", kind)
		require.Equal(t, kind != bmctest.OpenSession, talk.Logins().Failed == 1, "%v", kind)
	}
}

func TestAnIPMIFaultCountsTheMessagesOfItsEffect(t *testing.T) {
	ask := exchange(t)[0].packet
	busy := bmctest.Refused(bmctest.AuthCapabilities, bmctest.NodeBusy)
	lost := bmctest.Unanswered(bmctest.AuthCapabilities)
	talk := bmctest.NewTalk(bmctest.IPMIFault{Skip: 1, Times: 2, Do: busy}, bmctest.IPMIFault{Skip: 2, Do: lost})
	for i, want := range []struct{ refused, passes bool }{{passes: true}, {refused: true}, {refused: true}, {passes: true}, {}, {}} {
		answer, passes := talk.Request(ask)
		require.Equal(t, want.refused, answer != nil, "%d", i)
		require.Equal(t, want.passes, passes, "%d", i)
	}
	talk.ClearFaults()
	_, passes := talk.Request(ask)
	require.True(t, passes)
}

func TestAPacketThatIsNoneOfIPMIPasses(t *testing.T) {
	var faults []bmctest.IPMIFault
	for _, kind := range kinds {
		faults = append(faults, bmctest.IPMIFault{Do: bmctest.Refused(kind, bmctest.NodeBusy)})
	}
	for _, d := range exchange(t) {
		for n := range d.packet {
			talk := bmctest.NewTalk(faults...)
			talk.Request(d.packet[:n])
			talk.Answer(d.packet[:n])
		}
	}
	talk := bmctest.NewTalk(faults...)
	for _, packet := range [][]byte{nil, []byte("no packet of IPMI"), bytes.Repeat([]byte{0xff}, 100)} {
		answer, passes := talk.Request(packet)
		require.Nil(t, answer)
		require.True(t, passes)
		require.Equal(t, packet, talk.Answer(packet))
	}
}

func TestAnIPMIEffectIsNamedAsItIsCalled(t *testing.T) {
	require.Equal(t, "nothing", bmctest.IPMIEffect{}.String())
	require.Equal(t, "Refused(ChassisControl, NodeBusy)", bmctest.Refused(bmctest.ChassisControl, bmctest.NodeBusy).String())
	require.Equal(t, "Refused(0x0601, 0xcc)", bmctest.Refused(0x0601, 0xcc).String())
	names := map[string]bool{}
	for _, e := range bmctest.IPMIEffects() {
		require.False(t, names[e.String()], e)
		names[e.String()] = true
		require.Equal(t, e.String() == "Refused(RAKP1, UnauthorizedName)", e.Fails() != "", e)
	}
}

func TestARelayAnswersInPlaceOfTheBMC(t *testing.T) {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer server.Close()
	bmc, stop, err := bmctest.NewRelay(server.LocalAddr().(*net.UDPAddr))
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	client, err := net.Dial("udp", bmc.Addr)
	require.NoError(t, err)
	defer client.Close()

	all, packet := exchange(t), make([]byte, 1000)
	bmc.AddFault(bmctest.IPMIFault{Times: 1, Do: bmctest.Refused(bmctest.AuthCapabilities, bmctest.BMCInitializing)})
	_, err = client.Write(all[0].packet)
	require.NoError(t, err)
	n, err := client.Read(packet)
	require.NoError(t, err)
	require.Equal(t, byte(bmctest.BMCInitializing), packet[n-2])
	bmc.AddFault(bmctest.IPMIFault{Do: bmctest.Refused(bmctest.AuthCapabilities, bmctest.BMCInitializing)})
	bmc.ClearFaults()

	bmc.AddFault(bmctest.IPMIFault{Times: 1, Do: bmctest.Unanswered(bmctest.AuthCapabilities)})
	for range 2 {
		_, err = client.Write(all[0].packet)
		require.NoError(t, err)
	}
	n, from, err := server.ReadFromUDP(packet)
	require.NoError(t, err)
	require.Equal(t, all[0].packet, packet[:n])
	_, err = server.WriteToUDP(all[1].packet, from)
	require.NoError(t, err)
	n, err = client.Read(packet)
	require.NoError(t, err)
	require.Equal(t, all[1].packet, packet[:n])
}
