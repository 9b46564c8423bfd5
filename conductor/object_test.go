// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordsOfObjectsOfBothVersionsAreRead(t *testing.T) {
	decode := func(value string) (Object, error) {
		return decodeObject(Record{Kind: KindRunbook, ID: "r", Revision: 7, Value: []byte(value)})
	}
	o, err := decode(`{"version":1,"uuid":"r","name":"n","fields":{"owner":"","description":"","name":"n"}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"description", "owner"}, o.Meta().Empty)
	require.Equal(t, int64(7), o.Meta().Revision)
	o, err = decode(`{"version":1,"uuid":"r","name":"n"}`)
	require.NoError(t, err)
	require.Equal(t, "n", o.Meta().Name)
	o, err = decode(`{"version":2,"uuid":"r","name":"n","fields":{"name":"another"}}`)
	require.NoError(t, err)
	require.Equal(t, "n", o.Meta().Name, "version 2 has no fields")
	for _, wrong := range []string{
		`{"version":1,"uuid":"r","name":5,"fields":{"name":"n"}}`, `{"version":1,"uuid":"r","fields":{"name":5}}`,
		`{"version":1,"uuid":"r","fields":[]}`, `{"version":3,"uuid":"r"}`, `{`,
	} {
		_, err = decode(wrong)
		require.Error(t, err, wrong)
	}
	_, err = decodeObject(Record{Kind: "none", ID: "r", Value: []byte(`{"version":2}`)})
	require.ErrorContains(t, err, "decode none r: the kind is unknown")
}
