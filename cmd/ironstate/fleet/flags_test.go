// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestBadFlagsAreUsageErrors(t *testing.T) {
	for _, test := range []struct {
		flag, value, want string
	}{
		{"-machines", "0", "-machines is 0: want 1 to 10000"}, {"-machines", "10001", "want 1 to 10000"},
		{"-base-port", "65533", "want 1 to 65532"}, {"-base-port", "-1", "want 1 to"},
		{"-listen-host", "0.0.0.0", "want an IP address that Ironic reaches"}, {"-listen-host", "rack1", "want an IP address"},
		{"-name", "Rack", "small letters"}, {"-name", "", "small letters"}, {"-name", "rack-", "small letters"},
		{"-api", "127.0.0.1:6385", "want a URL"}, {"-api", "ftp://x", "want a URL"}, {"-api", "http://", "want a URL"},
		{"-heartbeat", "0s", "more than 0"}, {"-user", "a:b", "without a colon"}, {"-user", "", "without a colon"},
		{"-disk-size", "1M", "80M or more"}, {"-disk-size", "x", "80M or more"}, {"-disk-size", "", "80M or more"},
		{"-disk-size", "9000000T", "80M or more"},
		{"-profile", "sun", "want one of plain, dell, hpe, lenovo"},
		{"-faults", "none=1", `no fault "none"`}, {"-faults", "no-boot", "NAME=RATE"}, {"-faults", "no-boot=2", "from 0 to 1"},
		{"-faults", "no-boot=NaN", "from 0 to 1"}, {"-faults", "no-boot=0.1,x=1", `no fault "x"`},
		{"-bogus", "1", "see -h"},
	} {
		_, err := parse([]string{test.flag, test.value}, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage, "%s %s", test.flag, test.value)
		require.ErrorContains(t, err, test.want)
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{
		"-disk-size", "2G", "-profile", "plain", "-profile", "hpe", "-faults", "no-boot=0.5,write-dies=1", "-faults", "bmc-slow=0",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, int64(2<<30), o.diskSize)
	require.Equal(t, []string{"plain", "hpe"}, namesOf(o.profiles))
	require.Equal(t, map[string]float64{"no-boot": 0.5, "write-dies": 1, "bmc-slow": 0}, o.rates)
	o, err = parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"plain", "dell", "hpe", "lenovo", "supermicro", "dmtf"}, namesOf(o.profiles))
	o, err = parse([]string{"-profile", "all"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, familyNames(), namesOf(o.profiles))

	var help bytes.Buffer
	_, err = parse([]string{"-h"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, f := range faults {
		require.Contains(t, help.String(), f.name+" ("+f.text+")")
	}
}

func namesOf(profiles []bmctest.Profile) (names []string) {
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	return names
}

func TestTheFolderCannotBeUsed(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(taken, []byte("\n"), 0o600))
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, caFile), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(broken, caKeyFile), nil, 0o600))
	for want, args := range map[string][]string{
		"make the folder":                 {"-folder", taken},
		"read the certificate authority":  {"-folder", broken},
		"read the password":               {"-password-file", filepath.Join(broken, "none")},
		"is empty":                        {"-password-file", taken},
		"read the authorities of the API": {"-api-ca", filepath.Join(broken, "none")},
		"has no certificate in PEM":       {"-api-ca", taken},
		"cannot assign requested address": {"-listen-host", "192.0.2.1"},
	} {
		o, err := parse(args, io.Discard)
		require.NoError(t, err)
		_, err = start(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

func TestThePortOfABMCIsTaken(t *testing.T) {
	for port := 19_500; !blocksTheBMC(t, port); port += 2 {
	}
}

// blocksTheBMC starts a fleet on a port while the one above is taken. It returns false if another program has one of
// them.
func blocksTheBMC(t *testing.T, port int) bool {
	blocker, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
	if err != nil {
		return false
	}
	defer blocker.Close()
	o, err := parse([]string{"-base-port", strconv.Itoa(port)}, io.Discard)
	require.NoError(t, err)
	_, err = start(t.Context(), o)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	return strings.Contains(err.Error(), "start fleet-0001: bmctest: listen on")
}
