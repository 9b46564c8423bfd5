// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLimitsOfABIOSSettingArePermitted(t *testing.T) {
	lower, upper, large := int64(2), int64(4), int64(4294967295)
	for _, test := range []struct {
		setting BIOSSetting
		value   any
		want    any // nil for an error
	}{
		{BIOSSetting{AttributeType: "Integer", LowerBound: &lower, UpperBound: &upper}, 1, nil},
		{BIOSSetting{AttributeType: "Integer", LowerBound: &lower, UpperBound: &upper}, 2, json.Number("2")},
		{BIOSSetting{AttributeType: "Integer", LowerBound: &lower, UpperBound: &upper}, "4", json.Number("4")},
		{BIOSSetting{AttributeType: "Integer", LowerBound: &lower, UpperBound: &upper}, 5, nil},
		{BIOSSetting{AttributeType: "Integer", LowerBound: &lower, UpperBound: &large}, int64(4294967295), json.Number("4294967295")},
		{BIOSSetting{AttributeType: "Integer", LowerBound: &lower}, 500, json.Number("500")},
		{BIOSSetting{AttributeType: "Integer", UpperBound: &upper}, -500, json.Number("-500")},
		{BIOSSetting{AttributeType: "String", MinLength: &lower, MaxLength: &upper}, "a", nil},
		{BIOSSetting{AttributeType: "String", MinLength: &lower, MaxLength: &upper}, "äb", "äb"},
		{BIOSSetting{AttributeType: "String", MinLength: &lower, MaxLength: &upper}, "abcd", "abcd"},
		{BIOSSetting{AttributeType: "String", MinLength: &lower, MaxLength: &upper}, "abcde", nil},
	} {
		got, err := test.setting.typed(test.value)
		require.Equal(t, test.want == nil, err != nil, "%v %v", test.value, err)
		if err == nil {
			require.Equal(t, test.want, got)
		}
	}
}
