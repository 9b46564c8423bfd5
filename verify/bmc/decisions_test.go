// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestTheDefaultTimeoutDependsOnTheProtocol(t *testing.T) {
	for _, test := range []struct {
		protocol    string
		given, want time.Duration
	}{
		{"ipmi", 0, defaultIPMITimeout}, {"ipmi", time.Second, time.Second},
		{"redfish", 0, 30 * time.Second}, {"auto", 0, 30*time.Second + defaultIPMITimeout}, {"redfish", time.Second, time.Second},
	} {
		config := Config{Host: "bmc", User: "u", Password: secret.New("p"), Protocol: test.protocol, Timeout: test.given}
		config, err := config.complete()
		require.NoError(t, err)
		require.Equal(t, test.want, config.Timeout, "%+v", test)
	}
}

func TestConfigurationsWithOtherLogsAreEqual(t *testing.T) {
	a := Config{Host: "bmc", User: "u", Password: secret.New("p"), Log: slog.New(slog.DiscardHandler)}
	b := a
	b.Log = slog.Default()
	require.True(t, a.equal(b))
	b.User = "v"
	require.False(t, a.equal(b))
}

func TestARefusalOfABootOverrideAsksForThePropertyThatWasNotSent(t *testing.T) {
	target := "Pxe"
	all := boot{Target: &target, Enabled: "Once", Mode: "UEFI"}
	for property, without := range map[string]boot{
		"Target":  {Enabled: "Once", Mode: "UEFI"},
		"Enabled": {Target: &target, Mode: "UEFI"},
		"Mode":    {Target: &target, Enabled: "Once"},
	} {
		says := func(text string) *redfish.Answer { return &redfish.Answer{Body: []byte(text)} }
		refusal := says("the property BootSourceOverride" + property + " is missing")
		require.True(t, without.lacks(refusal), property)
		require.False(t, all.lacks(refusal), property)
		require.False(t, without.lacks(says("the value is wrong")), property)
		require.False(t, boot{}.lacks(says("")))
	}
}

func TestAFailedRequestIsSentAgainAfterThreeSeconds(t *testing.T) {
	require.Equal(t, 3*time.Second, usualPauseTime)
}

func TestABIOSSettingIsSecretIfItMayBeAPassword(t *testing.T) {
	for s, want := range map[*BIOSSetting]bool{
		{AttributeType: "Password"}:                  true,
		{AttributeType: "Password", Value: "hidden"}: true,
		{}:                                   true,
		{Value: ""}:                          false,
		{AttributeType: "String"}:            false,
		{AttributeType: "String", Value: ""}: false,
	} {
		require.Equal(t, want, s.IsSecret(), "%+v", s)
	}
}

func TestTheErrorOfAPasswordInTheBIOSDoesNotHaveIt(t *testing.T) {
	most := int64(3)
	s := BIOSSetting{Name: "AdminPassword", AttributeType: "Password", MaxLength: &most}
	_, err := s.typed("hunter2")
	require.ErrorContains(t, err, "length")
	require.NotContains(t, err.Error(), "hunter2")
	s = BIOSSetting{AttributeType: "Password", AllowableValues: []string{"a"}}
	_, err = s.typed("hunter2")
	require.ErrorContains(t, err, "value is not permitted")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestASecretThatManyCallsBringIsRememberedOnce(t *testing.T) {
	r := &redfishConnection{}
	for _, text := range []string{"secret of an image", "secret of a header", "secret of an image"} {
		r.hide(text)
	}
	require.Len(t, r.hidden, 2)
}
