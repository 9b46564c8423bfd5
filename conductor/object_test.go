// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARecordThatIsNotAnObjectOfTheKindIsAnError(t *testing.T) {
	decode := func(kind Kind, value string) (Object, error) {
		return decodeObject(Record{Kind: kind, ID: "r", Revision: 7, Value: []byte(value)})
	}
	o, err := decode(KindRunbook, `{"version":2,"uuid":"r","name":"n"}`)
	require.NoError(t, err)
	require.Equal(t, "n", o.Meta().Name)
	require.Equal(t, int64(7), o.Meta().Revision)
	for _, wrong := range []string{`{"version":2,"uuid":"r","name":5}`, `{"version":1,"uuid":"r"}`, `{"version":3,"uuid":"r"}`, `{`} {
		_, err = decode(KindRunbook, wrong)
		require.ErrorContains(t, err, "decode runbooks r: ", wrong)
	}
	_, err = decode("none", `{"version":2}`)
	require.ErrorContains(t, err, "decode none r: the kind is unknown")
}
