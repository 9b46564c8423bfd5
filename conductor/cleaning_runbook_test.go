// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// bookUUID is the UUID of the runbook "reset".
const bookUUID = "5a0f4d9e-37a1-4a3e-8a8c-1d1f3a3f0a01"

// runbooks stores a runbook for each of these names, with the steps of its list and the name as its trait.
func (f *fleet) runbooks(books map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(books)) {
		book := &conductor.Runbook{ObjectMeta: conductor.ObjectMeta{Name: name}, Traits: []string{name}}
		switch name {
		case "reset":
			book.UUID = bookUUID
		case "traitless":
			book.Traits = nil
		case "two":
			book.Traits = []string{"Z", "A"}
		case "offline":
			book.DisableRamdisk = true
		}
		for i, step := range strings.Fields(books[name]) {
			iface, step, _ := strings.Cut(step, ".")
			book.Steps = append(book.Steps, conductor.RunbookStep{Interface: iface, Step: step, Args: map[string]any{}, Order: i})
		}
		_, err := f.CreateObject(f.ctx, book)
		require.NoError(f.t, err)
	}
}

// did returns the operations on the node's machine from now on, but for the reading of its power state.
func (f *fleet) did() *[]string {
	var did []string
	f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
		if !strings.HasPrefix(operation, "read") {
			did = append(did, operation)
		}
		return nil
	})
	return &did
}

var cleaningBooks = map[string]string{
	"reset": "bios.factory_reset bios.cache_bios_settings", "cache": "bios.cache_bios_settings", "two": "bios.factory_reset",
	"traitless": "bios.factory_reset", "unknown": "bios.no_such_step",
	"raw": "vendor.send_raw bios.factory_reset", "onlyraw": "vendor.send_raw", // not allowed by default
}

func TestAnAutomatedCleaningHasTheStepsOfTheNodesRunbook(t *testing.T) {
	type cleaning = conductor.AutomatedCleaning
	const (
		byPriority, resetAndCache = "vendor.log_passthrough", "bios.factory_reset bios.cache_bios_settings"
		none                      = "Unable to perform cleaning for node NODE: configuration requires runbook for automated cleaning " +
			"and none was configured."
		notMeant     = "Automated cleaning runbook two is not valid for node NODE. "
		only, hybrid = conductor.StepsOfRunbook, conductor.StepsOfAnyRunbook
	)
	classes := map[string]string{"large": "cache", "none": ""}
	own := func(value any) map[string]any { return map[string]any{"cleaning_runbook": value} }
	for name, test := range map[string]struct {
		config  cleaning
		series  states.Series // the latest if it is zero
		class   string
		info    map[string]any
		traits  string // besides cache and reset
		did     string
		refused string
		status  int    // of the refusal
		fails   string // the last error of the cleaning
	}{
		"no runbook by default":   {info: own("cache"), did: byPriority},
		"the runbook of all":      {config: cleaning{Source: only, Runbook: "reset"}, did: resetAndCache},
		"by its UUID":             {config: cleaning{Source: only, Runbook: bookUUID}, did: resetAndCache},
		"if there is one":         {config: cleaning{Source: hybrid, Runbook: "cache"}, did: "bios.cache_bios_settings"},
		"by priority without one": {config: cleaning{Source: hybrid}, did: byPriority},
		"there is none":           {config: cleaning{Source: only}, refused: none, status: 500},
		"one that is not there": {
			config:  cleaning{Source: hybrid, Runbook: "gone"},
			refused: "Runbook gone could not be found.", status: 404,
		},
		"of the class": {
			config: cleaning{Source: only, Runbook: "reset", ClassRunbooks: classes},
			class:  "large", did: "bios.cache_bios_settings",
		},
		"of another class": {
			config: cleaning{Source: only, Runbook: "reset", ClassRunbooks: classes},
			class:  "small", did: resetAndCache,
		},
		"a class without": {
			config: cleaning{Source: hybrid, Runbook: "cache", ClassRunbooks: classes},
			class:  "none", did: byPriority,
		},
		"of the node": {
			config: cleaning{Source: only, ClassRunbooks: classes, NodeRunbook: true},
			class:  "large", info: own("reset"), did: resetAndCache,
		},
		"not of the node":   {config: cleaning{Source: only, Runbook: "cache"}, info: own("reset"), did: "bios.cache_bios_settings"},
		"the node has none": {config: cleaning{Source: only, Runbook: "cache", NodeRunbook: true}, did: "bios.cache_bios_settings"},
		"an empty one of the node": {
			config: cleaning{Source: only, Runbook: "cache", NodeRunbook: true},
			info:   own(""), refused: none, status: 500,
		},
		"null of the node": {config: cleaning{Source: hybrid, Runbook: "cache", NodeRunbook: true}, info: own(nil), did: byPriority},
		"a number of the node": {
			config: cleaning{Source: hybrid, NodeRunbook: true},
			info:   own(5), refused: "Runbook 5 could not be found.", status: 404,
		},
		"an object of the node": {
			config: cleaning{Source: hybrid, NodeRunbook: true}, info: own(map[string]any{"password": "x"}),
			refused: "Runbook {'password': '******'} could not be found.", status: 404,
		},
		"for other nodes": {
			config:  cleaning{Source: hybrid, Runbook: "two"},
			refused: notMeant + "None of the runbook's traits ['A', 'Z'] match a node trait.", status: 500,
		},
		"for other nodes before 2026.2": {
			config: cleaning{Source: hybrid, Runbook: "two"}, series: states.Gazpacho, traits: "A",
			refused: notMeant + "Runbook name must match a node trait.", status: 500,
		},
		"for no node": {
			config: cleaning{Source: hybrid, Runbook: "traitless"}, traits: "traitless",
			refused: "Automated cleaning runbook traitless is not valid for node NODE. Runbook has no traits configured.", status: 500,
		},
		"by one of its traits": {config: cleaning{Source: hybrid, Runbook: "two"}, traits: "A", did: "bios.factory_reset"},
		"by its name before 2026.2": {
			config: cleaning{Source: only, Runbook: "two"},
			series: states.Flamingo, traits: "two", did: "bios.factory_reset",
		},
		"whatever the traits": {config: cleaning{Source: only, Runbook: "traitless", SkipTraits: true}, did: "bios.factory_reset"},
		"whatever the name before 2026.2": {
			config: cleaning{Source: only, Runbook: "two", SkipTraits: true},
			series: states.Gazpacho, did: "bios.factory_reset",
		},
		"without the step not allowed": {config: cleaning{Source: only, Runbook: "raw", SkipTraits: true}, did: "bios.factory_reset"},
		"a step that the node has not": {
			config: cleaning{Source: only, Runbook: "unknown", SkipTraits: true},
			fails: "Cannot clean node NODE: node does not support this clean step: {'interface': 'bios', 'step': " +
				"'no_such_step', 'args': {}, 'order': 0}",
		},
		"no step that is allowed": {
			config: cleaning{Source: only, Runbook: "onlyraw", SkipTraits: true},
			fails:  "Cannot clean node NODE: runbook onlyraw has no step that the operator's configuration allows, so nothing would be erased.",
		},
	} {
		for _, target := range []string{"provide", "deleted"} {
			t.Run(name+", "+target, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, func(c *conductor.Config) {
						c.SkipPowerSync, c.AutomatedCleaning = true, test.config
						if test.series != states.NoSeries {
							c.Table = test.series.Table()
						}
					})
					f.runbooks(cleaningBooks)
					from := map[string]states.State{"provide": states.Manageable, "deleted": states.Active}[target]
					n := f.create(conductor.Node{
						ProvisionState: from, ResourceClass: test.class, DriverInfo: test.info,
						Traits: append(strings.Fields(test.traits), "cache", "reset"),
					})
					did := f.did()
					text := func(s string) string { return strings.ReplaceAll(s, "NODE", n.UUID) }
					err := f.Provision(f.ctx, n.UUID, f.provision(target))
					got := f.settle(n)
					if test.refused != "" && target == "provide" {
						require.EqualError(t, err, text(test.refused))
						require.Equal(t, test.status, conductor.HTTPStatus(err))
						require.Equal(t, from, got.ProvisionState)
						require.Empty(t, got.LastError)
						require.NotNil(t, got.UpdatedAt, "Ironic has locked the node")
						return
					}
					require.NoError(t, err)
					if fails := test.fails + test.refused; fails != "" {
						require.Equal(t, states.CleanFail, got.ProvisionState)
						require.Equal(t, text(fails), got.LastError)
						return
					}
					require.Equal(t, states.Available, got.ProvisionState, got.LastError)
					require.Equal(t, test.did, strings.TrimPrefix(strings.Join(*did, " "), "deploy.tear_down "))
				})
			})
		}
	}
}

func TestANodeIsCleanedByItsRunbookWheneverItBecomesAvailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			c.SkipPowerSync = true
			c.AutomatedCleaning = conductor.AutomatedCleaning{Source: conductor.StepsOfRunbook, Runbook: "cache"}
		})
		f.runbooks(cleaningBooks)
		n := f.create(conductor.Node{ProvisionState: states.Enroll, Traits: []string{"cache", "reset"}})
		did := f.did()
		f.request(n, "manage")
		f.settle(n)

		manual := f.provision("clean") // its steps must not stay
		manual.CleanSteps, manual.DisableRamdisk = []conductor.StepRequest{{Interface: "bios", Step: "factory_reset"}}, nil
		require.NoError(t, f.Provision(f.ctx, n.UUID, manual))
		f.settle(n)
		*did = nil
		f.request(n, "provide")
		require.Equal(t, states.Available, f.settle(n).ProvisionState)
		require.Equal(t, []string{"bios.cache_bios_settings"}, *did)

		f.request(n, "active")
		require.Equal(t, states.Active, f.settle(n).ProvisionState)
		_, err := f.UpdateObject(f.ctx, conductor.KindRunbook, "cache", func(o conductor.Object) error {
			book := o.(*conductor.Runbook)
			book.Steps = append(book.Steps, conductor.RunbookStep{Interface: "bios", Step: "factory_reset"})
			return nil
		})
		require.NoError(t, err)
		*did = nil
		f.before(waiting("bios.cache_bios_settings"))
		f.request(n, "deleted")
		got := f.settle(n)
		require.Equal(t, states.CleanWait, got.ProvisionState)
		require.True(t, got.CleanSteps.ByRunbook)
		require.Equal(t, map[string]any{
			"interface": "bios", "step": "cache_bios_settings", "args": map[string]any{}, "order": 0, "abortable": false, "priority": 0,
		}, got.Step().Record(states.WorkClean))
		require.NoError(t, f.DeleteObject(f.ctx, conductor.KindRunbook, "cache")) // a cleaning that has begun goes on
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		got = f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState, got.LastError)
		require.Equal(t, conductor.Steps{}, *got.CleanSteps)
	})
}

func TestACleaningThatIsSkippedNeedsNoRunbook(t *testing.T) {
	for name, test := range map[string]struct {
		skip bool
		node *bool
	}{"by the configuration": {true, nil}, "by the node": {false, new(bool)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) {
					c.SkipPowerSync, c.SkipAutomatedClean = true, test.skip
					c.AutomatedCleaning = conductor.AutomatedCleaning{Source: conductor.StepsOfRunbook}
				})
				n := f.create(conductor.Node{ProvisionState: states.Active, AutomatedClean: test.node})
				f.request(n, "deleted")
				require.Equal(t, states.Available, f.settle(n).ProvisionState)
				f.request(n, "manage")
				f.settle(n)
				err := f.Provision(f.ctx, n.UUID, f.provision("provide"))
				require.ErrorIs(t, err, conductor.NoRunbook, "Ironic refuses the request all the same")
			})
		})
	}
}

// TestTheAgentIsNotBootedForARunbookThatNeedsNoRamdisk has a runbook with disable_ramdisk, and one whose steps need no
// ramdisk.
func TestTheAgentIsNotBootedForARunbookThatNeedsNoRamdisk(t *testing.T) {
	for book, test := range map[string]struct {
		series states.Series
		boots  bool
	}{"offline": {states.Flamingo, false}, "set": {states.Gazpacho, false}, "made": {states.Latest(), true}} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync, c.Table = true, test.series.Table()
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": byBMC{c.Hardware["fake-hardware"].(*conductor.Fake)}}
				c.AutomatedCleaning = conductor.AutomatedCleaning{Source: conductor.StepsOfRunbook, Runbook: book, SkipTraits: true}
			})
			f.runbooks(map[string]string{"offline": "bios.set", "set": "bios.set", "made": "raid.make"})
			n := f.create(conductor.Node{ProvisionState: states.Manageable, Interfaces: map[string]string{"deploy": "direct"}})
			did := f.did()
			f.request(n, "provide")
			got := f.settle(n)
			if test.boots {
				require.Equal(t, states.CleanWait, got.ProvisionState)
				require.Contains(t, *did, "prepare")
				return
			}
			require.Equal(t, states.Available, got.ProvisionState, got.LastError)
			require.Empty(t, *did, book)
		})
	}
}

func TestAMismatchOfVersionsRestartsARunbook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.AutomatedCleaning = conductor.AutomatedCleaning{Source: conductor.StepsOfRunbook, Runbook: "burn", SkipTraits: true}
		})
		m.runbooks(map[string]string{"burn": "deploy.burnin_cpu deploy.erase_devices"})
		m.request(m.n, "provide")
		m.settle(m.n)
		m.boot()
		m.end("SUCCEEDED", "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step burnin_cpu", "execute_clean_step erase_devices"}, m.heard())
		m.requireState(m.end("CLEAN_VERSION_MISMATCH", ""), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "get_clean_steps", "execute_clean_step burnin_cpu"}, m.heard())
		m.end("SUCCEEDED", "")
		m.requireState(m.end("SUCCEEDED", ""), states.Available, "")
	})
}

func TestASourceOfStepsIsNamedAsInIronic(t *testing.T) {
	for source, word := range map[conductor.StepSource]string{
		conductor.StepsByPriority: "autogenerated", conductor.StepsOfRunbook: "runbook", conductor.StepsOfAnyRunbook: "hybrid",
	} {
		text, err := source.MarshalText()
		require.NoError(t, err)
		require.Equal(t, word, string(text))
		var parsed conductor.StepSource
		require.NoError(t, parsed.UnmarshalText(text))
		require.Equal(t, source, parsed)
	}
	parsed := conductor.StepsOfRunbook
	require.EqualError(t, parsed.UnmarshalText([]byte("Runbook")), `"Runbook" is no source of steps: want autogenerated, runbook or hybrid`)
	require.Equal(t, conductor.StepsOfRunbook, parsed)
	require.Equal(t, "StepSource(3)", conductor.StepSource(3).String())
}
