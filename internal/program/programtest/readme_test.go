// SPDX-License-Identifier: Apache-2.0

package programtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABlockIsComparedWithAnOutput(t *testing.T) {
	block := blocksOf("# program\n\n```sh\ngo run .\n```\n\n```\nat 15:04:05.125\n\n...\ndone in 3.2s: ...\n```\n")
	require.Len(t, block, 1)
	for output, same := range map[string]bool{
		"at 01:02:03.456\n\ndone in 17ms: well\n":              true,
		"at 01:02:03.456  \n\nmore\nmore\ndone in 1s: well\n":  true,
		"at 01:02:03.456\ndone in 17ms: well\n":                false,
		"at noon\n\ndone in 17ms: well\n":                      false,
		"at 01:02:03.456\n\ndone in 17ms: well\nand so on\n":   false,
		"first\nat 01:02:03.456\n\ndone in 17ms: well\n":       false,
		"at 01:02:03.456\n\ndone soon: well\n":                 false,
		"at 01:02:03.456\n\nmore done in 17ms: not at first\n": false,
	} {
		if same {
			require.Regexp(t, pattern(block[0]), masked(output))
		} else {
			require.NotRegexp(t, pattern(block[0]), masked(output))
		}
	}
}
