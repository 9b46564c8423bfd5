// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify/secret"
)

// IPMIConfig configures an IPMI BMC. The zero value is a BMC on a free port of the loopback interface, with one user,
// whose machine is off.
type IPMIConfig struct {
	Addr  string // host:port to answer on; "127.0.0.1:0" if empty
	Power string // "on" or "off"; off if empty

	// Users has the password of each user, all administrators; DefaultUser with DefaultPassword if empty.
	Users map[string]secret.Text
}

// Limits of ipmi_sim. IPMI itself allows 16 and 20 bytes, and has 63 users, the first of which is the anonymous one.
const (
	maxIPMIUserName = 15
	maxIPMIPassword = 19
	maxIPMIUsers    = 62
)

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c IPMIConfig) complete() (IPMIConfig, error) {
	c.Addr = cmp.Or(c.Addr, "127.0.0.1:0")
	c.Power = cmp.Or(c.Power, "off")
	c.Users = usersOrDefault(c.Users)
	var errs []error
	invalid := func(field string, value any, want string) {
		errs = append(errs, &machine.ConfigError{Package: "bmctest", Field: field, Value: value, Want: want})
	}
	if c.Power != "on" && c.Power != "off" {
		invalid("Power", c.Power, `"on" or "off"`)
	}
	if len(c.Users) > maxIPMIUsers {
		invalid("Users", len(c.Users), fmt.Sprintf("%d at most, for which ipmi_sim has room", maxIPMIUsers))
	}
	const want = "%s of 1 to %d printable ASCII characters, no space, no double quote"
	for _, name := range slices.Sorted(maps.Keys(c.Users)) {
		if !quotable(name, maxIPMIUserName) {
			invalid("Users", name, fmt.Sprintf(want, "names", maxIPMIUserName))
		}
		if !quotable(c.Users[name].Reveal(), maxIPMIPassword) {
			invalid("Users", name, fmt.Sprintf(want, "passwords", maxIPMIPassword))
		}
	}
	return c, errors.Join(errs...)
}

// quotable reports whether s can be in double quotes in a configuration of ipmi_sim, which has no escapes and splits
// its lines at spaces even within quotes.
func quotable(s string, most int) bool {
	ok := func(r rune) bool { return r > ' ' && r <= '~' && r != '"' }
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return !ok(r) })
}

//go:embed chassis.sh
var chassisProgram string

// emulator describes one management controller.
const emulator = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
`

// lanConfig returns ipmi_sim's configuration, ipmi_lan(5). It has no user 1, so that nobody can log in without a name.
func lanConfig(addr *net.UDPAddr, users map[string]secret.Text) string {
	var s strings.Builder
	fmt.Fprintf(&s, `name "bmctest"
set_working_mc 0x20
  startlan 1
    addr %s %d
    priv_limit admin
    allowed_auths_callback md5
    allowed_auths_user md5
    allowed_auths_operator md5
    allowed_auths_admin md5
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "./chassis.sh 0x20"
`, addr.IP, addr.Port)
	for i, name := range slices.Sorted(maps.Keys(users)) {
		fmt.Fprintf(&s, "  user %d true \"%s\" \"%s\" admin 10 md5\n", i+2, name, users[name].Reveal())
	}
	return s.String()
}

// writeFiles writes the files that do not depend on the port.
func (b *IPMI) writeFiles() error {
	return errors.Join(
		os.Mkdir(filepath.Join(b.dir, "state"), 0o700),
		b.write("sim.emu", emulator, 0o600),
		b.write("boot", "default\n", 0o600),
		b.write("chassis.sh", chassisProgram, 0o700),
	)
}

func (b *IPMI) write(name, content string, mode os.FileMode) error {
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), mode); err != nil {
		return fmt.Errorf("bmctest: %w", err)
	}
	return nil
}
