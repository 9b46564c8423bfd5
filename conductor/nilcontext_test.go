package conductor_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
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
