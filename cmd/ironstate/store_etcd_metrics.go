// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ironstate/ironstate/conductor/etcd/embedded"
)

// etcdMetrics returns the metrics of a store on etcd in the folder data, nil if it is empty: this process is no server
// of etcd then.
func etcdMetrics(data string) prometheus.Gatherer {
	if data == "" {
		return nil
	}
	ofFolder := prometheus.NewRegistry()
	ofFolder.MustRegister(folder(data))
	return prometheus.Gatherers{ofFolder, prometheus.GathererFunc(gatherEtcd)}
}

// folder is a collector of the metrics of the file system of -data.
type folder string

var (
	freeDesc    = prometheus.NewDesc("conductor_data_free_bytes", "Free space of the file system of -data.", nil, nil)
	reserveDesc = prometheus.NewDesc("conductor_data_reserve_bytes",
		"Free space of the file system of -data below which writes are refused.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (folder) Describe(to chan<- *prometheus.Desc) { to <- freeDesc; to <- reserveDesc }

// Collect implements [prometheus.Collector].
func (f folder) Collect(to chan<- prometheus.Metric) {
	free, err := embedded.FreeSpace(string(f))
	if err != nil {
		return
	}
	to <- prometheus.MustNewConstMetric(freeDesc, prometheus.GaugeValue, float64(free))
	to <- prometheus.MustNewConstMetric(reserveDesc, prometheus.GaugeValue, embedded.DefaultReserve)
}

// serverMetrics are the metrics of the embedded etcd that show a slow disk or a full database.
var serverMetrics = map[string]bool{
	"etcd_mvcc_db_total_size_in_bytes": true, "etcd_mvcc_db_total_size_in_use_in_bytes": true,
	"etcd_server_quota_backend_bytes":           true,
	"etcd_disk_wal_fsync_duration_seconds":      true,
	"etcd_disk_backend_commit_duration_seconds": true,
}

// gatherEtcd returns the metrics of the embedded etcd.
func gatherEtcd() ([]*dto.MetricFamily, error) {
	all, err := prometheus.DefaultGatherer.Gather()
	var chosen []*dto.MetricFamily
	for _, family := range all {
		if serverMetrics[family.GetName()] {
			chosen = append(chosen, family)
		}
	}
	return chosen, err
}
