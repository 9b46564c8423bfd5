// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// BenchmarkFleet verifies 1,000 nodes against BMCs that take 50 ms for each answer. It
// reports the time relative to the ideal, which is the time of one verification times
// the number of rounds that the bound needs, and the peak number of goroutines,
// including the BMCs' goroutines.
func BenchmarkFleet(b *testing.B) {
	const (
		nodes   = 1000
		servers = 50
	)
	var configs []bmc.Config
	for range servers {
		server, err := bmctest.NewRedfish(bmctest.RedfishConfig{
			Users:       map[string]secret.Text{user: secret.New(password)},
			MaxSessions: nodes,
			Faults:      []bmctest.Fault{{Do: bmctest.Delay(50 * time.Millisecond)}},
		})
		if err != nil {
			b.Fatal(err)
		}
		defer server.Close()
		config := configOf(server)
		config.Timeout = time.Minute
		configs = append(configs, config)
	}

	for _, atOnce := range []int{10, 50, 100} {
		b.Run(fmt.Sprint("atOnce=", atOnce), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				begin := time.Now()
				verifyFleet(b, configs[:1], 1, 1)
				alone := time.Since(begin)
				begin = time.Now()
				most := verifyFleet(b, configs, nodes, atOnce)
				ideal := alone * nodes / time.Duration(atOnce)
				b.ReportMetric(float64(time.Since(begin))/float64(ideal), "x-ideal")
				b.ReportMetric(float64(most), "goroutines")
			}
		})
	}
}

// verifyFleet verifies nodes, using the configurations in turn, and returns the peak
// number of goroutines.
func verifyFleet(b *testing.B, configs []bmc.Config, nodes, atOnce int) int {
	b.Helper()
	var (
		mu    sync.Mutex
		most  int
		all   sync.WaitGroup
		slots = make(chan struct{}, atOnce)
	)
	for i := range nodes {
		v, err := bmc.New(configs[i%len(configs)])
		if err != nil {
			b.Fatal(err)
		}
		m, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
		if err != nil {
			b.Fatal(err)
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if _, err := verify.Manage(context.Background(), m, v); err != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			most = max(most, runtime.NumGoroutine())
		})
	}
	all.Wait()
	return most
}
