// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	tests := map[string]struct {
		set  func(*bmc.Config)
		text string
	}{
		"no host": {func(c *bmc.Config) { c.Host = "" }, "the host is empty"},
		"a port in the host": {func(c *bmc.Config) { c.Host = "bmc:443" },
			`the host "bmc:443" is not a name or an address; a port goes into RedfishPort or IPMIPort`},
		"a URL": {func(c *bmc.Config) { c.Host = "http://bmc" },
			`the host "http://bmc" is not a name or an address; a port goes into RedfishPort or IPMIPort`},
		"a password in the host": {func(c *bmc.Config) { c.Host = "root:calvin22@10.0.0.1" },
			"the host has an @ in it: want a name or an address; the user and the password go into User and Password"},
		"a flag as the host": {func(c *bmc.Config) { c.Host = "-v" },
			`the host "-v" is not a name or an address; a port goes into RedfishPort or IPMIPort`},
		"no user":             {func(c *bmc.Config) { c.User = "" }, "the user is empty"},
		"no password":         {func(c *bmc.Config) { c.Password = secret.New("") }, "the password is empty"},
		"a NUL":               {func(c *bmc.Config) { c.Password = secret.New("a\x00b") }, "the user or the password has a NUL in it"},
		"an unknown protocol": {func(c *bmc.Config) { c.Protocol = "snmp" }, `unknown protocol "snmp"; known: auto, redfish, ipmi`},
		"an unknown auth":     {func(c *bmc.Config) { c.Auth = "digest" }, `unknown authentication "digest"; known: auto, session, basic`},
		"fewer members":       {func(c *bmc.Config) { c.MaxMembers = -1 }, "a limit is negative"},
		"fewer bytes":         {func(c *bmc.Config) { c.MaxBytes = -1 }, "a limit is negative"},
		"a shorter answer":    {func(c *bmc.Config) { c.MaxAnswerBytes = -1 }, "a limit is negative"},
		"fewer requests":      {func(c *bmc.Config) { c.MaxRequests = -1 }, "a limit is negative"},
		"a port below":        {func(c *bmc.Config) { c.RedfishPort = -1 }, "the Redfish port -1 is not from 1 to 65535"},
		"a port above":        {func(c *bmc.Config) { c.RedfishPort = 65536 }, "the Redfish port 65536 is not from 1 to 65535"},
		"IPMI's port below":   {func(c *bmc.Config) { c.IPMIPort = -1 }, "the IPMI port -1 is not from 1 to 65535"},
		"IPMI's port above":   {func(c *bmc.Config) { c.IPMIPort = 65536 }, "the IPMI port 65536 is not from 1 to 65535"},
		"a negative timeout":  {func(c *bmc.Config) { c.Timeout = -1 }, "the timeout -1ns is negative"},
		"a negative step":     {func(c *bmc.Config) { c.StepTimeout = -1 }, "the timeout -1ns is negative"},
		"no fingerprint":      {func(c *bmc.Config) { c.Fingerprint = "12:34" }, `the fingerprint "12:34" is not a SHA-256 sum in hexadecimal`},
		"an empty pool":       {func(c *bmc.Config) { c.RootCAs = x509.NewCertPool() }, "RootCAs has no certificate in it"},
		"an unknown mode":     {func(c *bmc.Config) { c.BootMode = "coreboot" }, `unknown boot mode "coreboot"; known: , uefi, bios`},
		"a pool and no trust": {func(c *bmc.Config) { c.RootCAs, c.InsecureSkipTLSVerify = x509.NewCertPool(), true },
			"RootCAs, Fingerprint and InsecureSkipTLSVerify exclude one another"},
		"a pool and a fingerprint": {func(c *bmc.Config) { c.RootCAs, c.Fingerprint = x509.NewCertPool(), strings.Repeat("00", 32) },
			"RootCAs, Fingerprint and InsecureSkipTLSVerify exclude one another"},
		"no hexadecimal": {func(c *bmc.Config) { c.Fingerprint = "x" }, `the fingerprint "x" is not a SHA-256 sum in hexadecimal`},
		"trust and no trust": {func(c *bmc.Config) { c.Fingerprint, c.InsecureSkipTLSVerify = strings.Repeat("00", 32), true },
			"RootCAs, Fingerprint and InsecureSkipTLSVerify exclude one another"},
		"a base path that ends in a slash": {func(c *bmc.Config) { c.BasePath = "/bmc/" },
			`the base path "/bmc/" is not an absolute path without a slash at its end`},
		"a base path that climbs": {func(c *bmc.Config) { c.BasePath = "/bmc/../x" },
			`the base path "/bmc/../x" is not an absolute path without a slash at its end`},
		"a relative base path": {func(c *bmc.Config) { c.BasePath = "bmc" },
			`the base path "bmc" is not an absolute path without a slash at its end`},
		"two ways to choose a system": {func(c *bmc.Config) { c.SystemName, c.SystemID = "a", "1" },
			"SystemName and SystemID exclude one another"},
		"a system ID that is a path": {func(c *bmc.Config) { c.SystemID = "a/1" }, `the system ID "a/1" has a slash in it`},
		"no cipher suite":            {func(c *bmc.Config) { c.CipherSuite = "3 -x" }, `the cipher suite "3 -x" is not a number`},
		"a long user": {func(c *bmc.Config) { c.Protocol, c.User = "ipmi", "12345678901234567" },
			"the user name is longer than IPMI's 16 bytes"},
		"a long password": {func(c *bmc.Config) { c.Protocol, c.Password = "ipmi", secret.New("123456789012345678901") },
			"the password is longer than IPMI's 20 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := bmc.Config{Host: "bmc.example", User: user, Password: secret.New(password), Timeout: time.Second}
			_, err := bmc.New(config)
			require.NoError(t, err)

			test.set(&config)
			v, err := bmc.New(config)
			require.Nil(t, v)
			require.EqualError(t, err, "configure: misconfigured: "+test.text)
			require.ErrorIs(t, err, verify.Misconfigured)
		})
	}
	for name, set := range map[string]func(*bmc.Config){
		"the first ports": func(c *bmc.Config) { c.RedfishPort, c.IPMIPort = 1, 1 },
		"the last ports":  func(c *bmc.Config) { c.RedfishPort, c.IPMIPort = 65535, 65535 },
		"IPMI's longest user and password": func(c *bmc.Config) {
			c.Protocol, c.User, c.Password = "ipmi", "1234567890123456", secret.New("12345678901234567890")
		},
		"a user too long for IPMI": func(c *bmc.Config) { c.Protocol, c.User = "redfish", "12345678901234567" },
		"a fingerprint":            func(c *bmc.Config) { c.Fingerprint = strings.Repeat("0a:", 31) + "0a" },
		"a base path":              func(c *bmc.Config) { c.BasePath = "/bmc/17" },
		"a cipher suite":           func(c *bmc.Config) { c.CipherSuite = "17" },
		"no trust":                 func(c *bmc.Config) { c.InsecureSkipTLSVerify = true },
		"a boot mode":              func(c *bmc.Config) { c.BootMode = "bios" },
	} {
		config := bmc.Config{Host: "bmc.example", User: user, Password: secret.New(password)}
		set(&config)
		_, err := bmc.New(config)
		require.NoError(t, err, name)
	}
	for _, host := range []string{"bmc", "bmc-1.rack_2.example", "09azAZ", "10.0.0.1", "::1", "fe80::1%eth0"} {
		_, err := bmc.New(bmc.Config{Host: host, User: user, Password: secret.New(password)})
		require.NoError(t, err, host)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("bmc", "admin", "secret", "3", 443, int64(time.Second))
	f.Add("", "", "", "", -1, int64(-1))
	f.Fuzz(func(t *testing.T, host, user, password, suite string, port int, timeout int64) {
		v, err := bmc.New(bmc.Config{
			Host: host, User: user, Password: secret.New(password), CipherSuite: suite,
			RedfishPort: port, Timeout: time.Duration(timeout),
		})
		require.Equal(t, err == nil, v != nil)
		if err != nil {
			require.ErrorIs(t, err, verify.Misconfigured)
		}
	})
}
