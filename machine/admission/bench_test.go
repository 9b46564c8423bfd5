// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

var deployable = admission.NodeFields{
	State: states.Available, Power: states.PowerOff,
	Interfaces: map[string]string{"power": "fake", "deploy": "fake"}, Problems: map[string]error{"power": nil, "deploy": nil},
	Traits: []string{"CUSTOM_GOLD"}, InstanceTraits: []any{"CUSTOM_GOLD"},
}

func acceptances(rules admission.Rules) map[string]func() error {
	return map[string]func() error{
		"provision":  func() error { _, err := rules.Provision(deployable, "active", 82); return err },
		"start":      func() error { return rules.Start(deployable, states.EventProvide) },
		"delete":     func() error { return rules.Delete(deployable) },
		"patch":      func() error { return rules.Patch(deployable, false, 82) },
		"update":     func() error { return rules.Update(deployable, admission.Update{Retires: false, ResourceClass: true}) },
		"power":      func() error { return rules.Power(deployable, states.PowerOn) },
		"boot":       func() error { return rules.Boot(deployable) },
		"lock":       func() error { return rules.Lock(deployable, "inject_nmi") },
		"port":       func() error { return rules.UpdatePort(deployable, admission.PortUpdate{Address: true}, 82) },
		"volume":     func() error { return rules.UpdateVolume(deployable) },
		"allocate":   func() error { return rules.Allocate(deployable) },
		"deallocate": func() error { return rules.Deallocate(deployable) },
	}
}

func TestAnAcceptedRequestDoesNotAllocate(t *testing.T) {
	for name, accepts := range acceptances(admission.Rules{Table: states.Bobcat.Table()}) {
		require.NoError(t, accepts(), name)
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = accepts() }), name)
	}
}

func BenchmarkAccept(b *testing.B) {
	for name, accepts := range acceptances(admission.Rules{Table: states.Bobcat.Table()}) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = accepts()
			}
		})
	}
}
