// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// varying matches parts of an output that differ from run to run: times of day,
// addresses on the loopback interface, durations.
var varying = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}|127\.0\.0\.1:\d+|\b\d+(\.\d+)?(ms|µs|s)\b`)

// checkREADME requires that README.md in the test's folder shows the program's output in
// its only code block without a language. In the block a line "..." stands for any number
// of lines, and "..." within a line for any text. Times, durations and loopback addresses
// may differ.
func checkREADME(t *testing.T, printed string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := blocksOf(string(text))
	require.Len(t, blocks, 1, "blocks of README.md without a language")
	require.Regexp(t, pattern(blocks[0]), maskVarying(printed), "README.md shows another output")
}

// blocksOf returns the code blocks of a Markdown text that have no language.
func blocksOf(markdown string) (blocks [][]string) {
	for i, part := range strings.Split(markdown, "```") {
		if code, ok := strings.CutPrefix(part, "\n"); ok && i%2 == 1 {
			blocks = append(blocks, strings.Split(strings.TrimSuffix(code, "\n"), "\n"))
		}
	}
	return blocks
}

// pattern returns a regular expression for the output in a block.
func pattern(block []string) string {
	p := `\A`
	for _, line := range block {
		if strings.TrimSpace(line) == "..." {
			p += `(.*\n)*`
			continue
		}
		p += strings.ReplaceAll(regexp.QuoteMeta(maskVarying(line)), `\.\.\.`, `.*`)
	}
	return p + `\z`
}

// maskVarying returns a text with the varying parts masked, without spaces at the ends of
// lines, and with exactly one line break at its end.
func maskVarying(text string) string {
	lines := strings.Split(varying.ReplaceAllString(text, "VARIES"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

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
			require.Regexp(t, pattern(block[0]), maskVarying(output))
		} else {
			require.NotRegexp(t, pattern(block[0]), maskVarying(output))
		}
	}
}
