// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

func TestNewRefusesInvalidConfigurations(t *testing.T) {
	tests := []struct {
		field string
		set   func(*powersync.Config)
		text  string
	}{
		{"Store", func(c *powersync.Config) { c.Store = nil }, "powersync: Store is not set: want a Store"},
		{"Driver", func(c *powersync.Config) { c.Driver = nil }, ""},
		{"Store", func(c *powersync.Config) { c.Handler = &scripted{} }, ""},
		{"Driver", func(c *powersync.Config) { c.Store, c.Handler = nil, &scripted{} }, ""},
		{"Interval", func(c *powersync.Config) { c.Interval = -time.Second }, "powersync: Interval is -1s: want 0 for the default, or more"},
		{"Workers", func(c *powersync.Config) { c.Workers = -1 }, ""},
		{"Timeout", func(c *powersync.Config) { c.Timeout = -1 }, ""},
		{"SoftTimeout", func(c *powersync.Config) { c.SoftTimeout = -1 }, ""},
		{"Poll", func(c *powersync.Config) { c.Poll = -1 }, ""},
		{"Jitter", func(c *powersync.Config) { c.Jitter = -1 }, ""},
		{"Backoff", func(c *powersync.Config) { c.Backoff = -1 }, ""},
		{"MaxBackoff", func(c *powersync.Config) { c.Backoff, c.MaxBackoff = 2, 1 }, ""},
		{"MaxBackoff", func(c *powersync.Config) { c.MaxBackoff = -1 }, ""},
		{"Backoff", func(c *powersync.Config) { c.MaxBackoff = 1 }, ""},
		{"ForceLimit", func(c *powersync.Config) { c.ForceLimit = -1 }, ""},
	}
	for _, test := range tests {
		config := powersync.Config{Store: new(powersync.Memory), Driver: newHardware()}
		test.set(&config)
		s, err := powersync.New(config)
		require.Nil(t, s)
		require.ErrorContains(t, err, "powersync: "+test.field+" is ")
		if test.text != "" {
			require.EqualError(t, err, test.text)
		}
	}
}

func TestTheConfigOfASyncerIsFilledIn(t *testing.T) {
	s, err := powersync.New(powersync.Config{Store: &powersync.Memory{}, Driver: newHardware()})
	require.NoError(t, err)
	require.Equal(t, time.Minute, s.Config().Timeout)
	again, err := powersync.New(s.Config())
	require.NoError(t, err)
	require.Equal(t, s.Config(), again.Config())
}
