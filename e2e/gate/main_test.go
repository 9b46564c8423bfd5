// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program"
)

const list = `# a comment
systems etcd TestCluster
systems e2e/vendors TestRecorded IRONSTATE_TEST_TREES
load . TestPeak
load . TestFlood/gzip
chance . FuzzX
`

// output returns the events of tests, each given as the action, the package and the test.
func output(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		f := strings.Fields(e)
		b.WriteString(`{"Action":"` + f[0] + `","Package":"github.com/ironstate/ironstate` + f[1] + `","Test":"` + f[2] + "\"}\n")
	}
	return b.String()
}

func TestASkippedTestHasALine(t *testing.T) {
	for name, test := range map[string]struct {
		asked, trees string
		events       []string
		want         string // a part of the error
	}{
		"what is listed is skipped":           {"", "", []string{"skip /etcd TestCluster", "pass /etcd TestOther"}, ""},
		"a subtest is listed":                 {"", "", []string{"skip  TestX"}, ". TestX was skipped, and has no line"},
		"what is listed is not skipped":       {"", "", []string{"pass /etcd TestCluster"}, "etcd TestCluster was not skipped"},
		"a package of that name is not asked": {"", "", []string{"skip /etcd/x TestCluster"}, "has no line"},
		"no test":                             {"", "", nil, "no test ran"},
		"systems are asked for":               {"systems", "", []string{"pass /etcd TestCluster", "skip  TestPeak"}, ""},
		"systems are absent":                  {"systems", "", []string{"skip /etcd TestCluster"}, "although it was asked for"},
		"a variable is absent":                {"systems", "", []string{"skip /e2e/vendors TestRecorded"}, ""},
		"a variable is there":                 {"systems", "/there", []string{"skip /e2e/vendors TestRecorded"}, "although it was asked for"},
		"a search is asked for":               {"search", "", []string{"pass  TestPeak", "pass  FuzzX", "skip /etcd TestCluster"}, ""},
		"a search is skipped":                 {"search", "", []string{"skip  TestFlood/gzip"}, "although it was asked for"},
		"a test fails":                        {"", "", []string{"fail  TestX"}, "tests failed"},
	} {
		t.Run(name, func(t *testing.T) {
			for i, e := range test.events { // the root package has no path
				test.events[i] = strings.Replace(e, "  ", " / ", 1)
			}
			t.Setenv("IRONSTATE_TEST_TREES", test.trees)
			err := gate([]string{"-list", listFile(t), "-asked", test.asked}, strings.NewReader(output(test.events...)), io.Discard, io.Discard)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func listFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "left-out")
	require.NoError(t, os.WriteFile(path, []byte(list), 0o600))
	return path
}

func TestTheOutputOfWhatFailedIsPrinted(t *testing.T) {
	const pkg = `"Package":"github.com/ironstate/ironstate/machine"`
	in := `{"Action":"output",` + pkg + `,"Test":"TestGood","Output":"quiet\n"}
{"Action":"pass",` + pkg + `,"Test":"TestGood"}
{"Action":"output",` + pkg + `,"Test":"TestBad","Output":"loud\n"}
{"Action":"fail",` + pkg + `,"Test":"TestBad"}
{"Action":"output",` + pkg + `,"Output":"FAIL\tgithub.com/ironstate/ironstate/machine\t1s\n"}
{"Action":"build-output","ImportPath":"x","Output":"x.go:1: undefined\n"}
`
	var out strings.Builder
	require.ErrorIs(t, gate([]string{"-list", listFile(t)}, strings.NewReader(in), &out, io.Discard), errFailed)
	require.Equal(t, "loud\nFAIL\tgithub.com/ironstate/ironstate/machine\t1s\nx.go:1: undefined\n", out.String())

	err := gate([]string{"-list", listFile(t)}, strings.NewReader("ok\n"), io.Discard, io.Discard)
	require.ErrorContains(t, err, "no output of go test -json")
	build := `{"Action":"build-fail","ImportPath":"x"}`
	require.ErrorIs(t, gate([]string{"-list", listFile(t)}, strings.NewReader(build), io.Discard, io.Discard), errFailed)
}

func TestTheTestsOfAPartArePatterns(t *testing.T) {
	var out strings.Builder
	require.NoError(t, gate([]string{"-list", listFile(t), "-rows", "load"}, nil, &out, io.Discard))
	require.Equal(t, ". ^(TestFlood|TestPeak)$\n", out.String())
	require.ErrorIs(t, gate([]string{"-list", listFile(t), "-rows", "none"}, nil, io.Discard, io.Discard), program.ErrUsage)
}

func TestALineHasAForm(t *testing.T) {
	for _, text := range []string{"systems etcd", "other etcd TestX", "systems a b c d", "load . TestX\nchance . TestX"} {
		_, err := parseList(text)
		require.ErrorContains(t, err, "line ", "%q", text)
	}
}
