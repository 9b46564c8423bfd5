// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheListOfFilesNamesEachFileOnce reads the list of files in doc.go.
func TestTheListOfFilesNamesEachFileOnce(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(text), "// The files, by subject:\n//\n")
	require.True(t, found)
	var listed []string
	for _, line := range regexp.MustCompile(`(?m)^//\t(\S+(?:, \S+)*) {2,}`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, strings.Split(line[1], ", ")...)
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(file string) bool { return file == "doc.go" || strings.HasSuffix(file, "_test.go") })
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".go")
	}
	slices.Sort(listed)
	require.Equal(t, files, listed)
}
