// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/hardware"
)

func TestTheTableOfFlagsHasFieldsAndFlagsThatExist(t *testing.T) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	new(options).define(flags)
	configs := map[string]reflect.Type{
		"conductor": reflect.TypeFor[conductor.Config](), "hardware": reflect.TypeFor[hardware.Config](),
		"etcd": reflect.TypeFor[etcd.Config](), "embedded": reflect.TypeFor[embedded.Config](),
	}
	merged := maps.Clone(flagOf)
	maps.Copy(merged, etcdFlagOf)
	for path, names := range merged {
		words := strings.Split(path, ".")
		at := configs[words[0]]
		for _, word := range words[1:] {
			field, exists := at.FieldByName(word)
			require.True(t, exists, path)
			at = field.Type
		}
		for name := range strings.SplitSeq(names, " and ") {
			require.NotNil(t, flags.Lookup(strings.TrimPrefix(name, "-")), name)
		}
	}
}

func TestTheLogHasTheFormatOfTheFlag(t *testing.T) {
	for format, want := range map[string]string{
		"text": `msg="it begins" node=n-1 after=1s` + "\n", "json": `"msg":"it begins","node":"n-1","after":1000000000}` + "\n",
	} {
		o, err := parse([]string{"-log-format", format}, io.Discard)
		require.NoError(t, err)
		var out strings.Builder
		slog.New(o.logHandler(&out)).Info("it begins", "node", "n-1", "after", time.Second)
		require.True(t, strings.HasSuffix(out.String(), want), out.String())
	}
}
