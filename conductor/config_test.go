// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	for field, change := range map[string][]func(*conductor.Config){
		"Store": {func(c *conductor.Config) { c.Store = nil }},
		"Hardware": {
			func(c *conductor.Config) { c.Hardware = nil },
			func(c *conductor.Config) { c.Hardware["nil"] = nil },
			func(c *conductor.Config) { c.Hardware[""] = &conductor.Fake{} },
		},
		"MaxDeploying":        {func(c *conductor.Config) { c.MaxDeploying = -1 }},
		"MaxCleaning":         {func(c *conductor.Config) { c.MaxCleaning = -1 }},
		"Workers":             {func(c *conductor.Config) { c.Workers = -1 }},
		"MaxHistory":          {func(c *conductor.Config) { c.MaxHistory = -1 }},
		"CleanStepPriorities": {func(c *conductor.Config) { c.CleanStepPriorities = map[string]int{"deploy.erase_devices": -1} }},
		"MaxTransitions":      {func(c *conductor.Config) { c.MaxTransitions = -1 }},
		"LockedInterval":      {func(c *conductor.Config) { c.LockedInterval = -time.Second }},
		"CheckInterval":       {func(c *conductor.Config) { c.CheckInterval = -time.Second }},
		"VerifyTimeout":       {func(c *conductor.Config) { c.VerifyTimeout = -time.Second }},
		"ShutdownTimeout":     {func(c *conductor.Config) { c.ShutdownTimeout = -time.Second }},
	} {
		for _, change := range change {
			config := conductor.Config{Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}}
			change(&config)
			_, err := conductor.New(config)
			var refused *conductor.ConfigError
			require.ErrorAs(t, err, &refused, field)
			require.Equal(t, field, refused.Field)
		}
	}
}

func TestAConductorHasTheNameOfItsHost(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	c, err := conductor.New(conductor.Config{Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(t, err)
	require.Equal(t, host, c.Name())
}
