// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package rapidseed_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
)

// asProgram is the environment variable that makes the test binary print rapid's seed and end.
const asProgram = "RAPIDSEED_AS_PROGRAM"

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(asProgram) != "" {
		_, _ = os.Stdout.WriteString(flag.Lookup("rapid.seed").Value.String())
		return
	}
	os.Exit(m.Run())
}

func TestTheSeedIsOneUnlessAnotherIsGiven(t *testing.T) {
	for _, test := range []struct{ variable, flag, want string }{
		{"", "", "1"}, {"RAPID_SEED=7", "", "7"}, {"RAPID_SEED=0", "", "0"}, {"", "-rapid.seed=8", "8"}, {"RAPID_SEED=7", "-rapid.seed=8", "8"},
	} {
		c := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(test.flag)...)
		for _, variable := range os.Environ() {
			if !strings.HasPrefix(variable, "RAPID_SEED=") {
				c.Env = append(c.Env, variable)
			}
		}
		c.Env = append(c.Env, asProgram+"=1", test.variable)
		output, err := c.Output()
		require.NoError(t, err)
		require.Equal(t, test.want, string(output), "%+v", test)
	}
}

func TestEachTestThatUsesRapidHasTheSeed(t *testing.T) {
	uses, seeds := map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		folder := filepath.Dir(path)
		uses[folder] = uses[folder] || bytes.Contains(text, []byte(`"pgregory.net/rapid"`))
		seeds[folder] = seeds[folder] || bytes.Contains(text, []byte(`_ "github.com/ironstate/ironstate/internal/rapidseed"`))
		return err
	}))
	for folder, used := range uses {
		require.True(t, seeds[folder] || !used, folder)
	}
}
