// SPDX-License-Identifier: Apache-2.0

package checksum_test

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/checksum"
)

func TestADigestIsComparedByItsAlgorithm(t *testing.T) {
	content := []byte("an image")
	m, s, l := fmt.Sprintf("%x", md5.Sum(content)), fmt.Sprintf("%X", sha256.Sum256(content)), fmt.Sprintf("%x", sha512.Sum512(content))
	for _, c := range []struct {
		algorithm, digest string
		known, equal      bool
	}{
		{"md5", m, true, true}, {"sha256", s, true, true}, {"sha512", l, true, true}, {"", m, true, true}, {"", s, true, true},
		{"", l, true, true},
		{"sha512", s, true, false}, {"md5", "", true, false}, {"sha1", m, false, false}, {"", "5f", false, false}, {"", "", false, false},
	} {
		sum := checksum.New(c.algorithm, c.digest)
		require.Equal(t, c.known, sum != nil, c)
		if sum != nil {
			_, err := sum.Write(content)
			require.NoError(t, err)
			require.Equal(t, c.equal, checksum.Equal(sum, c.digest), c)
		}
	}
}

// SECURITY.md: No file is held in memory while it is downloaded or built into an image.
func TestTheDigestOfAFileIsFoundInATextThatIsNotKept(t *testing.T) {
	for text, want := range map[string]string{
		"5f\n":         "5f",
		"5f":           "5f",
		"":             "",
		"5f  x\n":      "5f",
		"5f *x\r\n":    "5f",
		"aa y\n5f x\n": "5f",
		"aa y\n":       "",
		"aa y z\n":     "",
		"5f\naa\n":     "",
		"aa xx\n5f  x": "5f",
		"5f x\naa x\n": "5f",
		"\n\r\n5f\n\n": "5f",
		"aa\n5f x":     "5f",
		"5f " + strings.Repeat(" ", 4<<10-4) + "x":       "5f",
		"5f " + strings.Repeat(" ", 4<<10-3) + "x":       "",
		strings.Repeat("a", 5000) + "\n5f x\n":           "5f",
		strings.Repeat("a", 5000) + "\r5f\n":             "",
		"5f x\n" + strings.Repeat("bb y\n", 1000) + "aa": "5f",
	} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			f := checksum.Finder{Name: "x"}
			_, err := io.Copy(&f, from)
			require.NoError(t, err)
			digest, found := f.Digest()
			require.Equal(t, want, digest, "%.99q", text)
			require.Equal(t, want != "", found, "%.99q", text)
		}
	}
	long := []byte(strings.Repeat("a", 1<<20))
	f := checksum.Finder{Name: "x"}
	_, _ = f.Write(long)
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = f.Write(long) }), "one line is kept, up to its bound")

	require.True(t, checksum.IsURL("https://h/SHA256SUMS"))
	require.False(t, checksum.IsURL("5f"))
}
