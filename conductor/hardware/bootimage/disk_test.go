// SPDX-License-Identifier: Apache-2.0

package bootimage

import (
	"errors"
	"testing"

	"github.com/diskfs/go-diskfs/backend"
	"github.com/stretchr/testify/require"
)

// failing is a file whose writes have these errors.
type failing struct {
	backend.WritableFile
	errs *[]error
}

func (f failing) WriteAt(p []byte, _ int64) (int, error) {
	err := (*f.errs)[0]
	*f.errs = (*f.errs)[1:]
	return len(p), err
}

func TestTheFirstErrorOfAWriteIsKept(t *testing.T) {
	full, later := errors.New("no space left"), errors.New("a later error")
	errs := []error{nil, full, later, nil}
	disk := &checkedDisk{}
	file := checkedFile{failing{errs: &errs}, disk}
	for i, want := range []error{nil, full, full, full} {
		n, _ := file.WriteAt([]byte("text"), 0)
		require.Equal(t, 4, n)
		require.Equal(t, want, disk.err, i)
	}
}
