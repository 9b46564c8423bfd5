// SPDX-License-Identifier: Apache-2.0

// Package heaptest measures the heap in tests.
package heaptest

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// softLimit is the growth in bytes from which the collector frees garbage as soon as it can. Without a limit the
// garbage depends on when a loaded machine lets the collector run.
const softLimit = 256 << 20

// Growth returns the greatest growth of the heap in bytes while do runs.
func Growth(do func()) int64 {
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	debug.FreeOSMemory()
	metrics.Read(used)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(used[0].Value.Uint64()-used[1].Value.Uint64()) + softLimit))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before := read()
	ctx, done := context.WithCancel(context.Background())
	var peak int64
	var watching sync.WaitGroup
	watching.Add(1)
	go func() {
		defer watching.Done()
		for ctx.Err() == nil {
			peak = max(peak, read())
			time.Sleep(time.Millisecond)
		}
	}()
	do()
	done()
	watching.Wait()
	return peak - before
}
