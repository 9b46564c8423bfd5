// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// The machines of the images have no password.
func TestTheListOfSECURITYHasThePathOfTheImages(t *testing.T) {
	page, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "\n| the path of `-image-url` | ")
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, append([]byte("admin:"), hash...), 0o600))
	for _, test := range []struct {
		args   []string
		path   string
		status int
	}{
		{nil, "/images/x", http.StatusNotFound}, {nil, "/images/../v1/nodes", http.StatusNotFound},
		{nil, "/imagesx", http.StatusUnauthorized}, {nil, "/v1/nodes", http.StatusUnauthorized},
		{[]string{"-image-listen", "127.0.0.1:0"}, "/images/x", http.StatusUnauthorized},
	} {
		s := serveHere(t, append(test.args, "-demo", "0", "-auth-file", users,
			"-image-url", "http://127.0.0.1:1/images", "-image-folder", t.TempDir())...)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+test.path, nil)
		require.NoError(t, err)
		answer, err := s.client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, test.status, answer.StatusCode, "%q %s", test.args, test.path)
	}
}
