// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
)

func TestTheCertificatesOfEtcdAreVerifiedByTheFlags(t *testing.T) {
	certificate, key, pool := newCertificate(t)
	log := slog.New(slog.DiscardHandler)

	without, err := (&etcdFlags{endpoints: "https://a:1,https://b:1"}).config(log)
	require.NoError(t, err)
	require.Equal(t, []string{"https://a:1", "https://b:1"}, without.Endpoints)
	require.Nil(t, without.TLS, "the authorities of the system")

	with, err := (&etcdFlags{endpoints: "https://a:1", ca: certificate, cert: certificate, key: key}).config(log)
	require.NoError(t, err)
	require.True(t, pool.Equal(with.TLS.RootCAs))
	require.Len(t, with.TLS.Certificates, 1)
	with.TLS.RootCAs, with.TLS.Certificates = nil, nil
	require.Equal(t, &tls.Config{MinVersion: tls.VersionTLS12}, with.TLS, "nothing is left unverified")

	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []etcdFlags{{ca: empty}, {ca: empty + "?"}, {cert: certificate}, {cert: empty, key: key}} {
		_, err := c.config(log)
		require.Error(t, err, "%+v", c)
	}
}

func TestThePasswordOfEtcdIsNeitherLoggedNorPrinted(t *testing.T) {
	const password = "open sesame"
	t.Setenv("ETCD_PASSWORD", password)
	certificate, key, _ := newCertificate(t)
	var log bytes.Buffer
	debug := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	config, err := (&etcdFlags{endpoints: "https://a:1", user: "root", ca: certificate, cert: certificate, key: key}).config(debug)
	require.NoError(t, err)
	require.Equal(t, password, config.Password.Reveal())
	require.NotContains(t, fmt.Sprintf("%+v %#v", config, config), password)
	_, err = (&etcdFlags{endpoints: "https://a:1", user: "root", ca: key + "?"}).config(debug)
	require.Error(t, err)
	require.NotContains(t, log.String()+err.Error(), password)
}

func TestTheFreeSpaceOfTheDataIsAMetric(t *testing.T) {
	dir := t.TempDir()
	free, err := embedded.FreeSpace(dir)
	require.NoError(t, err)
	require.Positive(t, free)
	require.Equal(t, 2, testutil.CollectAndCount(folder(dir), "conductor_data_free_bytes", "conductor_data_reserve_bytes"))
	require.Zero(t, testutil.CollectAndCount(folder(dir+"/nothing")))
}

func TestTheReadinessOfAStoreOnEtcd(t *testing.T) {
	for health, want := range map[error]observe.Readiness{
		nil: observe.Ready, etcd.ErrNoMajority: observe.NoMajority, fmt.Errorf("update: %w", etcd.ErrNoSpace): observe.DiskFull,
		etcd.ErrClosed: observe.Stopping,
	} {
		require.Equal(t, want, etcdReadiness(health))
	}
}
