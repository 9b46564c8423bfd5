// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestAVersionOfIronicBelongsToASeries(t *testing.T) {
	for version, want := range map[string]states.Series{
		"21.4.4": states.Antelope, "22.0.0": states.Bobcat, "29.0.5": states.Epoxy, "30.0.0": states.Flamingo, "35.0.1": states.Gazpacho,
		"36.0.0": states.Hibiscus, "39.0.0": states.Hibiscus,
	} {
		got, newer, err := seriesOf(version)
		require.NoError(t, err)
		require.Equal(t, want, got, version)
		require.False(t, newer)
	}
	got, newer, err := seriesOf("99.0.0")
	require.NoError(t, err)
	require.Equal(t, states.Latest(), got, "a newer version is compared as the newest series")
	require.True(t, newer)
	for _, version := range []string{"", "x", "20.1.3"} {
		_, _, err := seriesOf(version)
		require.Error(t, err, version)
	}
	require.Equal(t, states.Latest(), states.Antelope+states.Series(len(lastReleases)-1), "each series has its last release")
}

func TestAFolderWithoutAnIronicIsErrNotInstalled(t *testing.T) {
	_, err := Find(t.Context(), t.TempDir())
	require.ErrorIs(t, err, ErrNotInstalled)
	t.Setenv(FoldersVariable, "/a"+string(filepath.ListSeparator)+"/b")
	require.Equal(t, []string{"/a", "/b"}, Folders())
}
