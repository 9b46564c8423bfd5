// SPDX-License-Identifier: Apache-2.0

package programtest

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

// CheckREADME requires that README.md in the test's folder shows the program's output in
// its only code block without a language. In the block a line "..." stands for any number
// of lines, and "..." within a line for any text. Times, durations and loopback addresses
// may differ.
func CheckREADME(t *testing.T, printed string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := blocksOf(string(text))
	require.Len(t, blocks, 1, "blocks of README.md without a language")
	require.Regexp(t, pattern(blocks[0]), masked(printed), "README.md shows another output")
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
		p += strings.ReplaceAll(regexp.QuoteMeta(masked(line)), `\.\.\.`, `.*`)
	}
	return p + `\z`
}

// masked returns a text with the varying parts masked, without spaces at the ends of
// lines, and with exactly one line break at its end.
func masked(text string) string {
	lines := strings.Split(varying.ReplaceAllString(text, "VARIES"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
