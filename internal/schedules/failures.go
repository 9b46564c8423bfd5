// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Failures are the failures of a run. After one choice several goroutines may record some, in any order. The zero value
// has none. It is safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	texts []string
}

// Fail records a failure.
func (f *Failures) Fail(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// Failure returns the failures in alphabetical order, each once, or "" for none.
func (f *Failures) Failure() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(f.texts))), "; ")
}
