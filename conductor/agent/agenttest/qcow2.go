// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/lima-vm/go-qcow2reader/image"
	"github.com/lima-vm/go-qcow2reader/image/qcow2"
)

// The bounds of an image's header in bytes, and of the values in it that QEMU accepts. Source: docs/interop/qcow2.txt
// and block/qcow2.h of QEMU.
const (
	qcow2MinHeader = 72
	qcow2Header    = 104
	maxClusterBits = 21
	maxL1Entries   = 4 << 20
)

// openImage returns the content of an image in a file, and its size in bytes. The format is the requested one: "raw",
// "qcow2", or empty if it is unknown. The library cannot read compressed clusters of less than 32 KiB; QEMU's default
// is 64 KiB.
//
// Source: get_and_validate_image_format in ironic_python_agent/disk_utils.py.
func openImage(file *os.File, format string) (content io.ReaderAt, size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	header := make([]byte, qcow2Header)
	n, err := file.ReadAt(header, 0)
	if err != nil && err != io.EOF {
		return nil, 0, err
	}
	actual := "raw"
	if string(header[:4]) == qcow2.Magic {
		actual = "qcow2"
	}
	switch {
	case format == "raw", format == "" && actual == "raw":
		return file, info.Size(), nil
	case format != "" && format != actual:
		return nil, 0, invalidImage("Security: Expected format was %s, but image was actually %s", format, actual)
	case n < qcow2MinHeader, binary.BigEndian.Uint32(header[20:]) > maxClusterBits, binary.BigEndian.Uint32(header[36:]) > maxL1Entries,
		binary.BigEndian.Uint64(header[8:]) != 0: // a backing file
		return nil, 0, invalidImage("Security: Image failed safety check")
	}
	opened, err := qcow2.Open(file, func(io.ReaderAt, image.Type) (image.Image, error) {
		return nil, fmt.Errorf("backing files are not supported")
	})
	if err == nil {
		err = opened.Readable()
	}
	if err != nil {
		return nil, 0, invalidImage("Security: Image failed safety check: %v", err)
	}
	return opened, opened.Size(), nil
}
