// SPDX-License-Identifier: Apache-2.0

package front

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func TestTheFileOfUsersIsReadOrRefusedByItsLine(t *testing.T) {
	made, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	hash := string(made)
	found, err := ParseUsers("# operators\r\n\r\n admin:" + hash + "\r\nother:" + strings.Replace(hash, "$2a$", "$2y$", 1))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.NoError(t, bcrypt.CompareHashAndPassword(found["admin"], []byte("correct horse")))
	require.NoError(t, bcrypt.CompareHashAndPassword(found["other"], []byte("correct horse")))

	for text, want := range map[string]string{
		"":                                     "no users",
		"# nobody\n\n":                         "no users",
		"admin:secret\n":                       "line 1 ",
		"admin\n":                              "line 1 ",
		":" + hash:                             "line 1 ",
		"\nadmin:" + hash[:len(hash)-1] + "\n": "line 2 ",
		"admin:" + hash + "x\n":                "line 1 ",
		"admin:" + hash + ":secret\n":          "line 1 ",
		"admin:" + hash + "\nx:" + hash + "\nadmin:" + hash: "line 3 repeats a user",
	} {
		_, err := ParseUsers(text)
		require.ErrorContains(t, err, want, "%q", text)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "$2")
	}
}
