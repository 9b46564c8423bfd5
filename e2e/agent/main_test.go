// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program"
)

func TestWrongFlagsAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"-agent is missing":                     {},
		`-boot is "pxe": want ipxe`:             {"-agent", "x", "-boot", "pxe"},
		`-format is "vmdk": want raw or qcow2`:  {"-agent", "x", "-format", "vmdk"},
		"flag provided but not defined: -sites": {"-sites"},
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

func TestTheImageHasAPartitionAndItsMark(t *testing.T) {
	l := &life{options: options{format: "raw", folder: t.TempDir()}}
	name, sum, err := l.image(t.Context())
	require.NoError(t, err)
	image, err := os.ReadFile(filepath.Join(l.folder, name))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(image)), sum)
	require.Equal(t, []byte{0x55, 0xaa}, image[510:512])
	require.Equal(t, imageMark, string(image[markOffset:markOffset+len(imageMark)]))
}
