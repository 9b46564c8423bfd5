// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestCertificates(t *testing.T) {
	tests := []struct {
		kind  bmctest.Certificate
		check func(t *testing.T, err error)
	}{
		{"", func(t *testing.T, err error) { require.NoError(t, err) }},
		{"expired", invalid(x509.Expired)},
		{"not yet valid", invalid(x509.Expired)},
		{"wrong name", func(t *testing.T, err error) {
			var wrong x509.HostnameError
			require.ErrorAs(t, err, &wrong)
		}},
		{"foreign CA", func(t *testing.T, err error) {
			var unknown x509.UnknownAuthorityError
			require.ErrorAs(t, err, &unknown)
		}},
	}
	require.Len(t, tests, 1+len(bmctest.BadCertificates()))
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Certificate: tt.kind})
			resp, err := bmc.Client().Get(bmc.URL)
			if err == nil {
				resp.Body.Close()
			}
			tt.check(t, err)
		})
	}
}

func TestBMCsShareAnAuthority(t *testing.T) {
	authority, err := bmctest.NewAuthority()
	require.NoError(t, err)
	first := newRedfish(t, bmctest.RedfishConfig{Authority: authority})
	second := newRedfish(t, bmctest.RedfishConfig{Authority: authority})
	require.Equal(t, first.CAPEM, second.CAPEM)
	require.NotEqual(t, first.Fingerprint, second.Fingerprint)
	client := first.Client()
	answer, err := client.Get(second.URL)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())

	_, err = bmctest.NewRedfish(bmctest.RedfishConfig{Authority: &tls.Certificate{}})
	require.ErrorContains(t, err, "Authority is")
}

func invalid(reason x509.InvalidReason) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		var invalid x509.CertificateInvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, reason, invalid.Reason)
	}
}
