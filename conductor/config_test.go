// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	for field, change := range map[string][]func(*conductor.Config){
		"Store": {func(c *conductor.Config) { c.Store = nil }},
		"Hardware": {
			func(c *conductor.Config) { c.Hardware = nil },
			func(c *conductor.Config) { c.Hardware["nil"] = nil },
			func(c *conductor.Config) { c.Hardware[""] = &conductor.Fake{} },
		},
		"Name": {
			func(c *conductor.Config) { c.Name = "alpha\n" },
			func(c *conductor.Config) { c.Name = "\x1b[31malpha" },
		},
		"AgentVerifyCA": {
			func(c *conductor.Config) { c.AgentVerifyCA = "no-such-file" },
			func(c *conductor.Config) { c.AgentVerifyCA = "config_test.go" }, // which has no certificates
			func(c *conductor.Config) { c.AgentVerifyCA = "tr\x00ue" },
		},
		"Group":               {func(c *conductor.Config) { c.Group = "rack 1" }},
		"DefaultGroup":        {func(c *conductor.Config) { c.DefaultGroup = strings.Repeat("a", 256) }},
		"MaxDeploying":        {func(c *conductor.Config) { c.MaxDeploying = -1 }},
		"MaxCleaning":         {func(c *conductor.Config) { c.MaxCleaning = -1 }},
		"Workers":             {func(c *conductor.Config) { c.Workers = -1 }},
		"ReservedWorkers":     {func(c *conductor.Config) { c.ReservedWorkers = 51 }},
		"MaxHistory":          {func(c *conductor.Config) { c.MaxHistory = -1 }},
		"ExpectedTimes":       {func(c *conductor.Config) { c.ExpectedTimes = conductor.ExpectedTimes{states.Active: time.Hour} }},
		"MinHistoryAge":       {func(c *conductor.Config) { c.MinHistoryAge = -time.Second }},
		"CleanStepPriorities": {func(c *conductor.Config) { c.CleanStepPriorities = map[string]int{"deploy.erase_devices": -1} }},
		"DisallowedSteps": {
			func(c *conductor.Config) {
				c.DisallowedSteps = map[states.Work][]string{states.WorkVerify: {"bios.factory_reset"}}
			},
			func(c *conductor.Config) {
				c.DisallowedSteps = map[states.Work][]string{states.WorkClean: {"bios.reset", "factory_reset"}}
			},
			func(c *conductor.Config) { c.DisallowedSteps = map[states.Work][]string{states.WorkDeploy: {"bios."}} },
			func(c *conductor.Config) {
				c.DisallowedSteps = map[states.Work][]string{states.WorkService: {".factory_reset"}}
			},
		},
		"DisallowedBootModes": {
			func(c *conductor.Config) { c.DisallowedBootModes.Enrollment = []string{"bios", "efi"} },
			func(c *conductor.Config) { c.DisallowedBootModes.Deployment = []string{""} },
		},
		"InspectionHooks": {
			func(c *conductor.Config) { c.InspectionHooks = []string{"cpus", "ports"} },
			func(c *conductor.Config) { c.InspectionHooks, c.Table = []string{"cpus"}, states.Flamingo.Table() },
			func(c *conductor.Config) {
				c.InspectionHooks, c.Table = []string{"parse-lldp"}, states.Antelope.Table()
			},
		},
		"AutomatedCleaning.Source": {
			func(c *conductor.Config) { c.AutomatedCleaning.Source = conductor.StepsOfAnyRunbook + 1 },
			func(c *conductor.Config) { c.AutomatedCleaning.Runbook = "CUSTOM_CLEAN" },
			func(c *conductor.Config) {
				c.AutomatedCleaning.ClassRunbooks = map[string]string{"large": "CUSTOM_CLEAN"}
			},
			func(c *conductor.Config) { c.AutomatedCleaning.NodeRunbook = true },
			func(c *conductor.Config) { c.AutomatedCleaning.SkipTraits = true },
			func(c *conductor.Config) {
				c.AutomatedCleaning.Source, c.Table = conductor.StepsOfRunbook, states.Epoxy.Table()
			},
		},
		"MaxTransitions":     {func(c *conductor.Config) { c.MaxTransitions = -1 }},
		"Agent.Attempts":     {func(c *conductor.Config) { c.Agent.Attempts = -1 }},
		"Agent.Polls":        {func(c *conductor.Config) { c.Agent.Polls = -1 }},
		"Agent.Timeout":      {func(c *conductor.Config) { c.Agent.Timeout = -1 }},
		"Agent.PollInterval": {func(c *conductor.Config) { c.Agent.PollInterval = -1 }},
		"Agent.MaxAnswer":    {func(c *conductor.Config) { c.Agent.MaxAnswer = -1 }},
		"LockedInterval":     {func(c *conductor.Config) { c.LockedInterval = -time.Second }},
		"CheckInterval":      {func(c *conductor.Config) { c.CheckInterval = -time.Second }},
		"VerifyTimeout":      {func(c *conductor.Config) { c.VerifyTimeout = -time.Second }},
		"ShutdownTimeout":    {func(c *conductor.Config) { c.ShutdownTimeout = -time.Second }},
	} {
		for _, change := range change {
			config := conductor.Config{Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}}
			change(&config)
			_, err := conductor.New(config)
			var refused *machine.ConfigError
			require.ErrorAs(t, err, &refused, field)
			require.Equal(t, field, refused.Field)
			config.Store, config.Hardware = nil, nil
			if err := config.Check(); field == "Store" || field == "Hardware" {
				require.NoError(t, err, "Check leaves it out")
			} else {
				require.Equal(t, error(refused), err)
			}
		}
	}
}

func TestOfSeveralErrorsInAConfigTheSameIsReturnedEachTime(t *testing.T) {
	for range 50 {
		_, err := conductor.New(conductor.Config{
			Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
			Workers: -1, MaxHistory: -1, MaxCleaning: -1,
		})
		var refused *machine.ConfigError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "MaxCleaning", refused.Field)
	}
}

func TestAConductorHasTheNameOfItsHost(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	c, err := conductor.New(conductor.Config{
		Store:    &conductor.Memory{},
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	require.Equal(t, host, c.Name())
}
