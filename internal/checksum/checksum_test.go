// SPDX-License-Identifier: Apache-2.0

package checksum_test

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/checksum"
)

func TestADigestIsThatOfItsAlgorithm(t *testing.T) {
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

func TestFindFindsTheDigestOfAFile(t *testing.T) {
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
	} {
		digest, found := checksum.Find(text, "x")
		require.Equal(t, want, digest, "%q", text)
		require.Equal(t, want != "", found, "%q", text)
	}
	require.True(t, checksum.IsURL("https://h/SHA256SUMS"))
	require.False(t, checksum.IsURL("5f"))
}
