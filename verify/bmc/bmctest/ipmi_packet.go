// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"slices"

	"github.com/ironstate/ironstate/verify/secret"
)

// conversation is what a relay knows of the packets between one client and the BMC. It reads the commands of a session
// with cipher suite 3, since it knows the users' passwords.
type conversation struct {
	users   map[string]secret.Text
	console [4]byte // the client's ID of the session
	rakp1   []byte  // the payloads from which the keys of the session follow
	rakp2   []byte
	last    uint32              // the sequence number of the last answer in the session
	made    uint32              // how many answers in the session are not the BMC's
	lost    map[IPMIMessage]int // how many answers the client will not get
}

func newConversation(users map[string]secret.Text) conversation {
	return conversation{users: users, lost: make(map[IPMIMessage]int)}
}

// message is a message of a client, or the answer to it.
type message struct {
	kind    IPMIMessage
	body    []byte // the payload of RMCP+, decrypted, or the message of IPMI 1.5
	session bool   // it belongs to a session
}

// rmcpHeader begins each packet: RMCP 1.0, no acknowledgement, the class of IPMI (IPMI 2.0, section 13.1.3).
var rmcpHeader = []byte{0x06, 0x00, 0xff, ipmiClass}

// Parts of a packet, most of them of RMCP+ (IPMI 2.0, table 13-8).
const (
	classAt       = 3
	ipmiClass     = 0x07
	formatAt      = 4
	ipmi15        = 0x00 // the format without authentication of IPMI 1.5, as before a session
	rmcpPlus      = 0x06 // the format of IPMI 2.0
	typeAt        = 5    // the type of the payload
	numberAt      = 10   // the sequence number
	lengthAt      = 14   // the length of the payload
	payloadAt     = 16
	trailer       = 0x07 // the next header after the payload
	authenticated = 0x40 // of the payload type
	encrypted     = 0x80
)

// authCode is the length of the integrity check HMAC-SHA1-96 (section 13.28.4).
const authCode = 12

// read returns the message of a packet, or the message that it answers. It reports false for a packet that is neither.
func (c *conversation) read(packet []byte) (m message, known bool) {
	const header15 = 14 // the length of the header of IPMI 1.5
	if len(packet) > header15 && packet[classAt] == ipmiClass && packet[formatAt] == ipmi15 {
		return command(packet[header15:], false)
	}
	kind, payload := sessionPayload(packet)
	switch kind {
	case openRequest, openAnswer, rakp1, rakp2, rakp3, rakp4:
		if len(payload) < openRefusal {
			return message{}, false
		}
		switch kind {
		case openRequest:
			*c = newConversation(c.users)
			copy(c.console[:], payload[4:])
		case rakp1:
			c.rakp1 = bytes.Clone(payload)
		case rakp2:
			c.rakp2 = bytes.Clone(payload)
		}
		return message{kind: 0x10000 + IPMIMessage(kind&^1), body: payload}, true
	}
	if keys := c.keys(); kind == 0 && keys != nil && len(payload) > 0 && packet[typeAt]&(encrypted|authenticated) == encrypted|authenticated {
		if n := int(binary.LittleEndian.Uint16(packet[lengthAt:])); n <= len(payload) {
			return command(keys.open(payload[:n]), true)
		}
	}
	return message{}, false
}

// command returns a message of IPMI (section 13.8), from its bytes.
func command(body []byte, session bool) (m message, known bool) {
	const shortest = 7 // two addresses, network function, sequence number, command, two checksums
	if len(body) < shortest {
		return message{}, false
	}
	function := body[1] >> 2 &^ 1 // of the request, if it is an answer
	return message{kind: IPMIMessage(function)<<8 | IPMIMessage(body[5]), body: body, session: session}, true
}

// answer returns the packet that the client gets for one of the BMC, nil if it is lost.
func (c *conversation) answer(packet []byte) []byte {
	m, known := c.read(packet)
	if !known {
		return packet
	}
	if c.lost[m.kind] > 0 {
		c.lost[m.kind]--
		return nil
	}
	if m.session {
		number := packet[numberAt:lengthAt]
		c.last = binary.LittleEndian.Uint32(number) + c.made
		binary.LittleEndian.PutUint32(number, c.last)
		c.keys().sign(packet)
	}
	return packet
}

// refusal returns the packet that answers a request with a code.
func (c *conversation) refusal(m message, code IPMICode) []byte {
	switch {
	case m.kind.opens(): // tables 13-10, 13-12 and 13-14
		answer := byte(m.kind) + 1
		header := []byte{rmcpPlus, answer, 0, 0, 0, 0, 0, 0, 0, 0, openRefusal, 0}
		return slices.Concat(rmcpHeader, header, []byte{m.body[0], byte(code), 0, 0}, c.console[:])
	case !m.session:
		body := completion(m.body, code)
		return slices.Concat(rmcpHeader, []byte{ipmi15, 0, 0, 0, 0, 0, 0, 0, 0, byte(len(body))}, body)
	}
	c.last++
	c.made++
	return c.keys().seal(c.console[:], c.last, completion(m.body, code))
}

// completion returns the message that answers a command with a completion code alone (section 13.8).
func completion(message []byte, code IPMICode) []byte {
	function, sequence := message[1]>>2|1, message[4]
	head := []byte{message[3], function<<2 | sequence&3}
	body := []byte{message[0], sequence&^3 | message[1]&3, message[5], byte(code)}
	return slices.Concat(head, []byte{checksum(head)}, body, []byte{checksum(body)})
}

// checksum returns the byte that makes the sum of all bytes zero.
func checksum(data []byte) (sum byte) {
	for _, b := range data {
		sum -= b
	}
	return sum
}

// sessionKeys are the keys of a session with cipher suite 3: HMAC-SHA1-96 and AES-CBC-128.
type sessionKeys struct {
	integrity []byte
	block     cipher.Block
}

// keys returns the keys of the session (sections 13.31 and 13.32), nil if there is none.
func (c *conversation) keys() *sessionKeys {
	const random, name = 8, 28 // where these begin in RAKP messages
	if len(c.rakp1) < name || len(c.rakp1) < name+int(c.rakp1[name-1]) || len(c.rakp2) < random+16 {
		return nil
	}
	user := c.rakp1[name : name+int(c.rakp1[name-1])]
	password, known := c.users[string(user)]
	if !known {
		return nil
	}
	session := mac([]byte(password.Reveal()),
		c.rakp1[random:random+16], c.rakp2[random:random+16], c.rakp1[random+16:random+17], c.rakp1[name-1:name], user)
	block, err := aes.NewCipher(mac(session, bytes.Repeat([]byte{2}, sha1.Size))[:aes.BlockSize])
	if err != nil {
		return nil
	}
	return &sessionKeys{integrity: mac(session, bytes.Repeat([]byte{1}, sha1.Size)), block: block}
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha1.New, key)
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// open decrypts a payload (section 13.29), and returns nil if it cannot.
func (k *sessionKeys) open(payload []byte) []byte {
	if len(payload) < 2*aes.BlockSize || len(payload)%aes.BlockSize != 0 {
		return nil
	}
	plain := make([]byte, len(payload)-aes.BlockSize)
	cipher.NewCBCDecrypter(k.block, payload[:aes.BlockSize]).CryptBlocks(plain, payload[aes.BlockSize:])
	pad := int(plain[len(plain)-1])
	return plain[:max(len(plain)-1-pad, 0)]
}

// seal returns the packet with a message of a session.
func (k *sessionKeys) seal(session []byte, number uint32, message []byte) []byte {
	plain := bytes.Clone(message)
	for pad := byte(1); len(plain)%aes.BlockSize != aes.BlockSize-1; pad++ {
		plain = append(plain, pad)
	}
	plain = append(plain, byte(len(plain)-len(message)))
	payload := make([]byte, aes.BlockSize+len(plain))
	_, _ = rand.Read(payload[:aes.BlockSize])
	cipher.NewCBCEncrypter(k.block, payload[:aes.BlockSize]).CryptBlocks(payload[aes.BlockSize:], plain)

	packet := slices.Concat(rmcpHeader, []byte{rmcpPlus, encrypted | authenticated}, session)
	packet = binary.LittleEndian.AppendUint32(packet, number)
	packet = binary.LittleEndian.AppendUint16(packet, uint16(len(payload)))
	// The integrity check is over a multiple of four bytes, and the payload is one already: the session's header of 12
	// bytes, the payload, two bytes of padding, and two of the trailer.
	packet = append(append(packet, payload...), 0xff, 0xff, 2, trailer)
	packet = append(packet, make([]byte, authCode)...)
	k.sign(packet)
	return packet
}

// sign sets the integrity check of a packet.
func (k *sessionKeys) sign(packet []byte) {
	const from = 4 // the RMCP header is not included
	if end := len(packet) - authCode; end > payloadAt {
		copy(packet[end:], mac(k.integrity, packet[from:end]))
	}
}
