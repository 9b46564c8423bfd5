// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// log collects the logged messages.
type log []string

func (l *log) printf(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// Each queue stands for a process: a lock belongs to an open file.
func TestHeavyTestsOfSeveralProcessesTakeTurns(t *testing.T) {
	newQueue := func(patience time.Duration, path string) *queue {
		return &queue{path: path, patience: patience, interval: time.Millisecond}
	}
	path := filepath.Join(t.TempDir(), "lock")
	first, second := newQueue(time.Hour, path), newQueue(time.Hour, path)
	var logged log
	first.enter(logged.printf)
	first.enter(logged.printf)
	require.Empty(t, logged, "tests of one process do not wait for each other")

	entered := make(chan log)
	waits := make(chan struct{})
	go func() {
		var logged log
		second.enter(func(format string, args ...any) { logged.printf(format, args...); close(waits) })
		entered <- logged
	}()
	<-waits
	first.leave()
	_, busy := tryLock(path)
	require.True(t, busy, "the first process has a second test")
	first.leave()
	require.Contains(t, strings.Join(<-entered, ""), "waits for the heavy test of another process")

	impatient := newQueue(5*time.Millisecond, path)
	impatient.enter(logged.printf)
	require.Len(t, logged, 2, "%v", logged)
	require.Contains(t, logged[1], "runs beside")
	impatient.leave()
	impatient.enter(logged.printf)
	require.Len(t, logged, 3, "the time of a process is for all its tests: %v", logged)
	impatient.leave()
	second.leave()
	impatient.enter(logged.printf)
	require.Len(t, logged, 3)
	require.NotNil(t, impatient.unlock)
	impatient.leave()

	nowhere := newQueue(time.Hour, filepath.Join(path, "below a file"))
	nowhere.enter(logged.printf)
	nowhere.leave()
	require.Len(t, logged, 3, "without a file there is no lock")
}
