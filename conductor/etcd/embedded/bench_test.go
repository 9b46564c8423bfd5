// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// nodeSize is the approximate size of a node's record in bytes.
const nodeSize = 1500

func openBench(b *testing.B, dir string) *etcd.Store {
	b.Helper()
	s, err := embedded.Open(b.Context(), embedded.Config{Dir: dir})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

func benchRecord(n int) conductor.Record {
	id := fmt.Sprintf("%08x-feed-4bed-8bad-%012x", n, n)
	return conductor.Record{Kind: etcdtest.Kind, ID: id, Keys: []string{"name=" + id}, Value: bytes.Repeat([]byte("x"), nodeSize)}
}

// spread calls do n times, distributed over writers goroutines.
func spread(b *testing.B, n, writers int, do func(writer, i int) error) {
	b.Helper()
	var next atomic.Int64
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := do(writer, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

func create1(b *testing.B, s conductor.Store) func(writer, i int) error {
	return func(_, i int) error {
		_, err := s.Create(b.Context(), benchRecord(i))
		return err
	}
}

func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 16, 128} {
		b.Run(strconv.Itoa(writers), func(b *testing.B) {
			s := openBench(b, b.TempDir())
			b.ResetTimer()
			spread(b, b.N, writers, create1(b, s))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, writers := range []int{1, 16, 128} {
		b.Run(strconv.Itoa(writers), func(b *testing.B) {
			s := openBench(b, b.TempDir())
			records := make([]conductor.Record, writers)
			for i := range records {
				records[i] = benchRecord(i)
				var err error
				records[i].Revision, err = s.Create(b.Context(), records[i])
				require.NoError(b, err)
			}
			b.ResetTimer()
			spread(b, b.N, writers, func(writer, _ int) (err error) {
				r := &records[writer]
				r.Revision, err = s.Update(b.Context(), *r)
				return err
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	s := openBench(b, b.TempDir())
	spread(b, 1000, 64, create1(b, s))
	r := benchRecord(500)
	for name, key := range map[string]string{"by ID": r.ID, "by key": r.Keys[0]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := s.Get(b.Context(), etcdtest.Kind, key)
				require.NoError(b, err)
			}
		})
	}
	b.Run("list of 1000", func(b *testing.B) {
		for b.Loop() {
			page, err := s.List(b.Context(), etcdtest.Kind, "", 1000)
			require.NoError(b, err)
			require.Len(b, page, 1000)
		}
	})
}

// BenchmarkFleet opens a folder with 100,000 nodes and reads them as a starting conductor does.
func BenchmarkFleet(b *testing.B) {
	const nodes = 100_000
	dir := b.TempDir()
	s, err := embedded.Open(b.Context(), embedded.Config{Dir: dir})
	require.NoError(b, err)
	spread(b, nodes, 128, create1(b, s))
	require.NoError(b, s.Close())
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := embedded.Open(b.Context(), embedded.Config{Dir: dir})
			require.NoError(b, err)
			b.StopTimer()
			b.ReportMetric(heap()/(1<<20), "MiB-heap")
			b.ReportMetric(float64(folderSize(b, dir))/(1<<20), "MiB-on-disk")
			require.NoError(b, s.Close())
			b.StartTimer()
		}
	})
	b.Run("watch until synced", func(b *testing.B) {
		s := openBench(b, dir)
		for b.Loop() {
			seen := 0
			for change, err := range s.Watch(b.Context(), etcdtest.Kind) {
				require.NoError(b, err)
				if seen++; change.Synced {
					break
				}
			}
			require.Equal(b, nodes+1, seen)
		}
		b.ReportMetric(heap()/(1<<20), "MiB-heap")
	})
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func folderSize(b *testing.B, dir string) (size int64) {
	b.Helper()
	require.NoError(b, filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return err
	}))
	return size
}
