// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/ipmitool"
	"github.com/go-logr/logr"
	"github.com/jacobweinstock/registrar"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func newIPMI(t *testing.T, config bmctest.IPMIConfig) *bmctest.IPMI {
	t.Helper()
	needs.Programs(t, "ipmi_sim", "ipmitool")
	bmc, err := bmctest.NewIPMI(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bmc.Close()) })
	return bmc
}

// dialIPMI returns a bmclib client of bmc that uses IPMI only.
func dialIPMI(t *testing.T, bmc *bmctest.IPMI, user, password string) *bmclib.Client {
	t.Helper()
	driver, err := ipmitool.New(bmc.Host, user, password,
		ipmitool.WithPort(strconv.Itoa(bmc.Port)), ipmitool.WithCipherSuite("3"))
	require.NoError(t, err)
	registry := registrar.NewRegistry(registrar.WithLogger(logr.Discard()))
	registry.Register(driver.Name(), ipmitool.ProviderProtocol, ipmitool.Features, nil, driver)
	return bmclib.NewClient(bmc.Host, user, password,
		bmclib.WithLogger(logr.Discard()), bmclib.WithRegistry(registry))
}

func TestIpmitoolControlsPower(t *testing.T) {
	bmc := newIPMI(t, bmctest.IPMIConfig{})
	ctx := t.Context()
	client := dialIPMI(t, bmc, bmctest.DefaultUser, bmctest.DefaultPassword)
	require.NoError(t, client.Open(ctx))
	for _, power := range []string{"on", "off", "on", "soft"} {
		_, err := client.SetPowerState(ctx, power)
		require.NoError(t, err)
		want := strings.ReplaceAll(power, "soft", "off")
		require.Equal(t, want, bmc.Power())
		status, err := client.GetPowerState(ctx)
		require.NoError(t, err)
		require.Contains(t, status, want)
	}
	require.NoError(t, bmc.SetPower("on"))
	status, err := client.GetPowerState(ctx)
	require.NoError(t, err)
	require.Contains(t, status, "on")
	require.NoError(t, client.Close(ctx))

	logins := bmc.Logins()
	require.Positive(t, logins.Attempts, "each command is an attempt")
	require.Equal(t, bmctest.Logins{Attempts: logins.Attempts, Succeeded: logins.Attempts}, logins)
}

func TestIpmitoolNeedsRightCredentials(t *testing.T) {
	odd := map[string]secret.Text{
		"u#$;=,%&*()'\\<": secret.New("!#$%&()*+,-./:;<=>?"),
		"other":           secret.New("@[]^_`{|}~\\'xyz"),
	}
	longest := map[string]secret.Text{strings.Repeat("u", 15): secret.New(strings.Repeat("p", 19))}
	succeeded := bmctest.Logins{Attempts: 1, Succeeded: 1}
	refused := bmctest.Logins{Attempts: 1, Failed: 1}
	brokenOff := bmctest.Logins{Attempts: 1} // the client aborts, because the BMC has another password
	tests := []struct {
		name           string
		users          map[string]secret.Text
		user, password string
		fails          bool
		logins         bmctest.Logins
	}{
		{name: "right", user: bmctest.DefaultUser, password: bmctest.DefaultPassword, logins: succeeded},
		{name: "wrong password", user: bmctest.DefaultUser, password: "wrong", fails: true, logins: brokenOff},
		{name: "unknown user", user: "nobody", password: bmctest.DefaultPassword, fails: true, logins: refused},
		{name: "no user", user: "", password: "", fails: true, logins: refused},
		{name: "punctuation", users: odd, user: "u#$;=,%&*()'\\<", password: "!#$%&()*+,-./:;<=>?", logins: succeeded},
		{name: "more punctuation", users: odd, user: "other", password: "@[]^_`{|}~\\'xyz", logins: succeeded},
		{name: "longest", users: longest, user: strings.Repeat("u", 15), password: strings.Repeat("p", 19), logins: succeeded},
		{name: "too short", users: longest, user: strings.Repeat("u", 15), password: strings.Repeat("p", 18), fails: true, logins: brokenOff},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newIPMI(t, bmctest.IPMIConfig{Users: tt.users})
			client := dialIPMI(t, bmc, tt.user, tt.password)
			_, err := client.GetPowerState(t.Context())
			require.Equal(t, tt.fails, err != nil, "error: %v", err)
			require.Equal(t, tt.logins, bmc.Logins())
		})
	}
}

func TestIpmitoolFailsWithoutAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		fail, mend func(*testing.T, *bmctest.IPMI)
	}{
		{
			name: "killed",
			fail: func(_ *testing.T, bmc *bmctest.IPMI) { bmc.Kill() },
			mend: func(t *testing.T, bmc *bmctest.IPMI) { require.NoError(t, bmc.Restart(t.Context())) },
		},
		{
			name: "packets lost",
			fail: func(_ *testing.T, bmc *bmctest.IPMI) { bmc.Drop(true) },
			mend: func(_ *testing.T, bmc *bmctest.IPMI) { bmc.Drop(false) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bmc := newIPMI(t, bmctest.IPMIConfig{Power: "on"})
			addr := bmc.Addr
			client := dialIPMI(t, bmc, bmctest.DefaultUser, bmctest.DefaultPassword)
			_, err := client.GetPowerState(t.Context())
			require.NoError(t, err)

			tt.fail(t, bmc)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err = client.GetPowerState(ctx)
			require.Error(t, err)
			require.Equal(t, "on", bmc.Power())

			tt.mend(t, bmc)
			status, err := client.GetPowerState(t.Context())
			require.NoError(t, err)
			require.Contains(t, status, "on")
			require.Equal(t, addr, bmc.Addr)
		})
	}
}

func TestNewIPMIRefusesBadConfig(t *testing.T) {
	fakeSim(t, "")
	user := func(name, password string) bmctest.IPMIConfig {
		return bmctest.IPMIConfig{Users: map[string]secret.Text{name: secret.New(password)}}
	}
	tests := []struct {
		name   string
		config bmctest.IPMIConfig
		want   string
	}{
		{"power", bmctest.IPMIConfig{Power: "On"}, `Power is "On": want "on" or "off"`},
		{"address", bmctest.IPMIConfig{Addr: "127.0.0.1:none"}, "127.0.0.1:none"},
		{"no name", user("", "secret"), `Users is "": want names`},
		{"no password", user("admin", ""), `Users is "admin": want passwords`},
		{"long name", user(strings.Repeat("u", 16), "secret"), "want names of 1 to 15"},
		{"long password", user("admin", strings.Repeat("p", 20)), "want passwords of 1 to 19"},
		{"space", user("ad min", "secret"), "no space"},
		{"quote", user(`a" "b`, "secret"), "no double quote"},
		{"new line", user("admin", "x\nuser 1 true"), "printable"},
		{"not ASCII", user("ädmin", "secret"), "ASCII"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc, err := bmctest.NewIPMI(t.Context(), tt.config)
			require.Nil(t, bmc)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestNewIPMISaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{})
	require.True(t, errors.Is(err, exec.ErrNotFound))
	require.ErrorContains(t, err, "openipmi")
}

// fakeSim replaces ipmi_sim by a shell script.
func fakeSim(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "ipmi_sim"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", bin)
}

func TestNewIPMIReportsWhyTheProgramEnded(t *testing.T) {
	fakeSim(t, "echo no luck today >&2\nexit 3\n")
	_, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{})
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no luck today")
}

func TestNewIPMIEndsWithItsContext(t *testing.T) {
	fakeSim(t, "read -r line\n")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := bmctest.NewIPMI(ctx, bmctest.IPMIConfig{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestIPMILeavesNoFolder(t *testing.T) {
	needs.Programs(t, "ipmi_sim")
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	bmc, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{})
	require.NoError(t, err)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, bmc.Close())
	require.NoError(t, bmc.Close())
	entries, err = os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Error(t, bmc.Restart(t.Context()), "it is closed")
}
