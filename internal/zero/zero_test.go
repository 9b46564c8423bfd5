package zero

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// standard has the calls that may panic, by prefixes of their names, each with the API of
// the same behaviour. Their doc comments document the panic.
var standard = map[string]string{
	"nil powersync.Memory.":   "sync.Map",
	"nil conductor.Memory.":   "sync.Map",
	"conductortest.Fault":     "http.Error",
	"zero conductortest.":     "httptest.Server",
	"nil conductortest.":      "httptest.Server",
	"zero verify.Func.Verify": "http.HandlerFunc",
	"powersyncstoretest.":     "fstest.TestFS, whose file system is never nil",
	"conductorstoretest.":     "fstest.TestFS, whose file system is never nil",
	"rapidstates.":            "generators panic if there is nothing to draw from, as rapid's do",
}

// followsStandard reports whether a call may panic.
func followsStandard(name string) bool {
	for prefix := range standard {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// timeout is far longer than any of the calls takes.
const timeout = 10 * time.Second

func TestFunctionsTakeZeroValues(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, function := range functions {
		try(t, name, reflect.ValueOf(function))
	}
}

func TestMethodsOfZeroValuesTakeZeroValues(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, zero := range types {
		pointer := reflect.ValueOf(zero)
		tryMethods(t, "zero ", pointer)
		tryMethods(t, "nil ", reflect.Zero(pointer.Type()))
	}
}

// decoding are the methods that store into their receiver. Such methods of the standard
// library panic for a nil receiver.
var decoding = []string{"UnmarshalText", "UnmarshalJSON", "UnmarshalBinary", "Scan"}

// tryMethods calls the methods of a pointer. For a nil pointer it skips methods with a
// value receiver, for which Go itself panics, and the methods of errors, because the
// standard library's error types panic too.
func tryMethods(t *testing.T, kind string, pointer reflect.Value) {
	_, isError := pointer.Interface().(error)
	for i := range pointer.NumMethod() {
		method := pointer.Type().Method(i)
		_, ofValue := pointer.Type().Elem().MethodByName(method.Name)
		if pointer.IsNil() && (ofValue || isError || slices.Contains(decoding, method.Name)) {
			continue
		}
		try(t, fmt.Sprintf("%s%v.%s", kind, pointer.Type().Elem(), method.Name), pointer.Method(i))
	}
}

// try calls a function with zero values, and once more with a context if the function has
// a context parameter.
func try(t *testing.T, name string, function reflect.Value) {
	if followsStandard(name) {
		return
	}
	t.Run(name, func(t *testing.T) {
		call(t, name, function, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for i := range function.Type().NumIn() {
			if function.Type().In(i) == reflect.TypeFor[context.Context]() {
				call(t, name, function, ctx)
				return
			}
		}
	})
}

func call(t *testing.T, name string, function reflect.Value, ctx context.Context) {
	t.Helper()
	in := make([]reflect.Value, 0, function.Type().NumIn())
	for i := range function.Type().NumIn() {
		parameter := function.Type().In(i)
		switch {
		case function.Type().IsVariadic() && i == function.Type().NumIn()-1:
		case ctx != nil && parameter == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(ctx))
		default:
			in = append(in, argument(t, parameter))
		}
	}
	ended := make(chan string, 1)
	go func() {
		panicked := ""
		defer func() {
			if value := recover(); value != nil {
				panicked = fmt.Sprintf("%v\n%s", value, debug.Stack())
			}
			ended <- panicked
		}()
		for _, result := range function.Call(in) {
			use(result)
		}
	}()
	select {
	case panicked := <-ended:
		require.Empty(t, panicked, "%s panics", name)
	case <-time.After(timeout):
		t.Fatalf("%s does not return", name)
	}
}

// argument returns the zero value of a parameter, or t for testing.TB, which is never
// nil.
func argument(t *testing.T, parameter reflect.Type) reflect.Value {
	for _, own := range []reflect.Value{reflect.ValueOf(t)} {
		if own.Type().AssignableTo(parameter) && parameter.Kind() == reflect.Interface && parameter.NumMethod() > 5 {
			return own
		}
	}
	return reflect.Zero(parameter)
}

// use ranges over a result that is an iterator, calls a result that is a function
// without arguments, and closes a result that is a closer.
func use(result reflect.Value) {
	if !result.CanInterface() {
		return
	}
	if closer, ok := result.Interface().(io.Closer); ok && !isNil(result) {
		_ = closer.Close()
		return
	}
	if closer, ok := result.Interface().(interface{ Close() }); ok && !isNil(result) {
		closer.Close()
		return
	}
	if result.Kind() != reflect.Func || result.IsNil() {
		return
	}
	kind := result.Type()
	switch {
	case kind.NumIn() == 0:
		result.Call(nil)
	case kind.NumIn() == 1 && kind.In(0).Kind() == reflect.Func && kind.In(0).NumOut() == 1 && kind.In(0).Out(0).Kind() == reflect.Bool:
		result.Call([]reflect.Value{reflect.MakeFunc(kind.In(0), func([]reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(false)}
		})})
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
