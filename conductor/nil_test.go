package conductor_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// TestANilContextIsAConfigError calls every method of a running conductor that has a context and returns an error.
func TestANilContextIsAConfigError(t *testing.T) {
	c := reflect.ValueOf(start(t, nil).Conductor)
	called := 0
	for i := range c.NumMethod() {
		method, name := c.Method(i), c.Type().Method(i).Name
		of := method.Type()
		if of.NumIn() == 0 || of.In(0) != reflect.TypeFor[context.Context]() || of.NumOut() == 0 || of.Out(of.NumOut()-1) != reflect.TypeFor[error]() {
			continue
		}
		called++
		args := make([]reflect.Value, of.NumIn())
		for k := range args {
			args[k] = reflect.Zero(of.In(k))
			if in := of.In(k); in.Kind() == reflect.Pointer {
				args[k] = reflect.New(in.Elem())
			}
		}
		var err error
		require.NotPanics(t, func() { err, _ = method.Call(args)[of.NumOut()-1].Interface().(error) }, name)
		var refused *conductor.ConfigError
		assert.ErrorAs(t, err, &refused, name)
	}
	require.Greater(t, called, 25)
}

func TestANilNodeIsAnErrorOfFake(t *testing.T) {
	f, ctx := &conductor.Fake{}, t.Context()
	for name, call := range map[string]func() error{
		"Verify":         func() error { _, err := f.Verify(ctx, nil); return err },
		"PowerState":     func() error { _, err := f.PowerState(ctx, nil); return err },
		"SetPower":       func() error { return f.SetPower(ctx, nil, states.PowerOn) },
		"BootDevice":     func() error { _, _, err := f.BootDevice(ctx, nil); return err },
		"BootDevices":    func() error { _, err := f.BootDevices(ctx, nil); return err },
		"SetBootDevice":  func() error { return f.SetBootDevice(ctx, nil, "pxe", false) },
		"Indicators":     func() error { _, err := f.Indicators(ctx, nil); return err },
		"IndicatorState": func() error { _, err := f.IndicatorState(ctx, nil, "system", "led"); return err },
	} {
		require.ErrorIs(t, call(), conductor.Invalid, name)
	}
}
