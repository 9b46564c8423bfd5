// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"github.com/prometheus/client_golang/prometheus"
)

// The metrics, which are sums over all machines.
var (
	machinesDesc = prometheus.NewDesc("fleet_machines", "Machines by what they run.", []string{"state"}, nil)
	powerDesc    = prometheus.NewDesc("fleet_power_operations_total", "Changes of power: on, off and reset.", []string{"operation"}, nil)
	bootsDesc    = prometheus.NewDesc("fleet_boots_total", "Boots by whether they started an agent.", []string{"agent"}, nil)
	mediaDesc    = prometheus.NewDesc("fleet_images_inserted_total", "Images that were inserted as virtual media.", nil, nil)
	writtenDesc  = prometheus.NewDesc("fleet_written_bytes_total", "Bytes of images and config drives that agents have written.", nil, nil)
	faultsDesc   = prometheus.NewDesc("fleet_faults_total", "Faults that were played.", []string{"fault"}, nil)
)

// collector is the metrics of a fleet.
type collector struct{ *fleet }

// Describe implements [prometheus.Collector].
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	var on, off, resets, agents, others, media, written int64
	states, played := map[string]int{}, map[string]int64{}
	for _, m := range c.machines {
		states[m.state()]++
		on, off, resets = on+m.powerOns.Load(), off+m.powerOffs.Load(), resets+m.resets.Load()
		agents, others = agents+m.agentBoots.Load(), others+m.diskBoots.Load()
		media, written = media+m.media.Load(), written+m.host.Written()
		for name, d := range m.dice {
			played[name] += d.played.Load()
		}
	}
	for _, s := range allStates {
		to <- prometheus.MustNewConstMetric(machinesDesc, prometheus.GaugeValue, float64(states[s]), s)
	}
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(powerDesc, on, "on")
	count(powerDesc, off, "off")
	count(powerDesc, resets, "reset")
	count(bootsDesc, agents, "true")
	count(bootsDesc, others, "false")
	count(mediaDesc, media)
	count(writtenDesc, written)
	for name, n := range played {
		count(faultsDesc, n, name)
	}
}
