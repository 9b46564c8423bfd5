package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// An output writes until the first failure, which it keeps: a verification that has
// begun continues to its end even if its output cannot be written.
type output struct {
	to  io.Writer
	err error
}

// Write never fails.
func (o *output) Write(text []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.to.Write(text)
	}
	return len(text), nil
}

// failure returns the error that kept the output from being written, or nil.
func (o *output) failure() error {
	if o.err == nil {
		return nil
	}
	reason := o.err
	var path *fs.PathError
	if errors.As(reason, &path) {
		reason = path.Err
	}
	return fmt.Errorf("write standard output: %w", reason)
}
