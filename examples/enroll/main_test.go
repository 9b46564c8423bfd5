package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		goleak.VerifyTestMain(m)
	}
}

// command runs the program and returns its exit status and what it printed.
func command(t *testing.T, password string, args ...string) (code int, out, errOut string) {
	t.Helper()
	getenv := func(name string) string {
		require.Equal(t, "BMC_PASSWORD", name)
		return password
	}
	var o, e bytes.Buffer
	code = run(t.Context(), args, getenv, &o, &e)
	return code, o.String(), e.String()
}

var (
	clock = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`)
	port  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

func TestWithoutFlagsOneNodeIsManageableAndOneIsNot(t *testing.T) {
	code, out, errOut := command(t, "")
	require.Equal(t, exitGood, code)
	require.Empty(t, errOut)
	programtest.CheckREADME(t, out)
	out = port.ReplaceAllString(clock.ReplaceAllString(out, "TIME"), "BMC")
	begin, table, found := strings.Cut(out, "\n\n")
	require.True(t, found)
	require.Equal(t, strings.TrimSpace(`
Two built-in Redfish BMCs; node-2 is given a wrong password.
TIME  node-1  enroll --manage--> verifying  (target manageable)
TIME  node-1  verifying --done--> manageable  (target none)
TIME  node-2  enroll --manage--> verifying  (target manageable)
TIME  node-2  verifying --fail--> enroll  (target none)`), begin)
	require.Regexp(t, `^NODE +PROVISION STATE +POWER STATE +LAST ERROR
node-1 +manageable +power on +
node-2 +enroll +none +verification of node node-2 failed: power interface: redfish BMC: credentials refused: .*
$`, table)
	require.NotContains(t, out, "horse")
}

func TestARealBMC(t *testing.T) {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	require.NoError(t, err)
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))
	secret := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(secret, []byte(bmctest.DefaultPassword+"\n"), 0o600))
	base := []string{"-bmc", server.Addr, "-user", bmctest.DefaultUser}

	tests := map[string]struct {
		password string
		args     []string
		code     int
		want     string
	}{
		"trusted":              {bmctest.DefaultPassword, []string{"-ca", ca}, exitGood, "manageable"},
		"by redfish":           {bmctest.DefaultPassword, []string{"-ca", ca, "-protocol", "redfish"}, exitGood, "power off"},
		"password from a file": {"", []string{"-ca", ca, "-password-file", secret}, exitGood, "manageable"},
		"not verified":         {bmctest.DefaultPassword, []string{"-insecure"}, exitGood, "manageable"},
		"not trusted":          {bmctest.DefaultPassword, nil, exitFailed, "TLS not trusted"},
		"a wrong password":     {"wrong-secret", []string{"-ca", ca}, exitFailed, "credentials refused"},
		"no time":              {bmctest.DefaultPassword, []string{"-ca", ca, "-timeout", "1ns"}, exitFailed, "no answer in time"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := command(t, test.password, append(base, test.args...)...)
			require.Equal(t, test.code, code)
			require.Contains(t, out, test.want)
			require.Empty(t, errOut)
			require.NotContains(t, out, bmctest.DefaultPassword)
			require.NotContains(t, out, "wrong-secret")
		})
	}
	require.Empty(t, server.Sessions())
}

func TestWrongUsageIsReportedInOneLine(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "no.pem")
	require.NoError(t, os.WriteFile(noPEM, []byte("nothing"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	good := []string{"-bmc", "bmc.example", "-user", "admin"}
	tests := map[string]struct {
		password string
		args     []string
		want     string
	}{
		"an unknown flag":      {"x", []string{"-password", "x"}, "flag provided but not defined: -password"},
		"a flag of two lines":  {"x", []string{"-no\nsuch"}, "flag provided but not defined: -no such"},
		"an empty password":    {"x", append(good, "-password-file", empty), "the password is empty"},
		"an argument":          {"x", []string{"10.0.0.1"}, `there is no argument "10.0.0.1": all is said with flags`},
		"no BMC":               {"x", []string{"-user", "admin"}, "the flags are for a real BMC: name it with -bmc HOST[:PORT]"},
		"no password":          {"", good, "there is no password: set BMC_PASSWORD or name a -password-file"},
		"no user":              {"x", []string{"-bmc", "bmc"}, "configure: misconfigured: the user is empty"},
		"an unknown protocol":  {"x", append(good, "-protocol", "snmp"), `unknown protocol "snmp"; known: auto, redfish, ipmi`},
		"no timeout":           {"x", append(good, "-timeout", "soon"), `invalid value "soon" for flag -timeout: parse error`},
		"a negative timeout":   {"x", append(good, "-timeout", "-1s"), "the timeout -1s is not positive"},
		"a port that is none":  {"x", []string{"-bmc", "bmc:70000", "-user", "u"}, `the port in "bmc:70000" is not from 1 to 65535`},
		"a host that is none":  {"x", []string{"-bmc", "http://bmc/", "-user", "u"}, "is not a name or an address"},
		"no password file":     {"x", append(good, "-password-file", "/nonexistent"), "open /nonexistent: no such file or directory"},
		"no CA file":           {"x", append(good, "-ca", "/nonexistent"), "open /nonexistent: no such file or directory"},
		"no certificate in it": {"x", append(good, "-ca", noPEM), "there is no PEM certificate in " + noPEM},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := command(t, test.password, test.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, out)
			require.Contains(t, errOut, test.want)
			require.Equal(t, 1, strings.Count(errOut, "\n"))
		})
	}
}

// TestTheStatusesAreThoseOfTheBuiltProgram shows what the READMEs say about go run.
func TestTheStatusesAreThoseOfTheBuiltProgram(t *testing.T) {
	var ended *exec.ExitError
	require.ErrorAs(t, programtest.Command("-nonsense").Run(), &ended)
	require.Equal(t, exitUsage, ended.ExitCode())
	require.ErrorAs(t, exec.CommandContext(t.Context(), "go", "run", ".", "-nonsense").Run(), &ended)
	require.Equal(t, 1, ended.ExitCode())
	for _, path := range []string{"../../README.md", "README.md"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), "`go run` itself exits with 1 for every status but 0", path)
	}
}

func TestHelp(t *testing.T) {
	code, out, errOut := command(t, "", "-h")
	require.Equal(t, exitGood, code)
	require.Empty(t, errOut)
	require.Contains(t, out, "usage: enroll")
	require.Contains(t, out, "-password-file FILE")
}

func TestAnInterruptEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	require.Equal(t, exitFailed, run(ctx, nil, func(string) string { return "" }, &out, &errOut))
	require.Contains(t, out.String(), "context canceled")
}
