// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The layout of an image by ISO 9660 (ECMA-119): the size of a sector, the place of the first volume descriptor, and of
// the record of the root folder in it.
const (
	isoSector = 2048
	isoVolume = 16 * isoSector
	isoRoot   = 156
)

// The limits for reading an image: bytes of a folder and of a configuration file, nested folders, and requests.
const (
	maxISOFolder = 1 << 20
	maxISOConfig = 64 << 10
	maxISODepth  = 8
	maxISOReads  = 200
)

// kernelParameters returns the kernel parameters in the boot loader's configuration of an image, of which the first one
// counts that boots a kernel with any. The names of files do not matter, as long as they end in .cfg.
//
// Source: create_esp_image_for_uefi and create_isolinux_image_for_bios in ironic/common/images.py.
func kernelParameters(image io.ReaderAt) (string, error) {
	volume := make([]byte, isoSector)
	if _, err := image.ReadAt(volume, isoVolume); err != nil {
		return "", fmt.Errorf("read the volume: %w", err)
	}
	if volume[0] != 1 || string(volume[1:6]) != "CD001" {
		return "", errors.New("the image has no ISO 9660 file system")
	}
	return (&isoReader{image: image, left: maxISOReads}).find(isoRecord(volume[isoRoot:]), 0)
}

// isoReader looks for kernel parameters in an image.
type isoReader struct {
	image io.ReaderAt
	left  int // files and folders that may still be read
}

var errNoParameters = errors.New("no boot loader's configuration has kernel parameters")

// find returns the kernel parameters below a folder.
func (i *isoReader) find(folder isoRecord, depth int) (string, error) {
	content, err := i.read(folder, maxISOFolder)
	if err != nil {
		return "", err
	}
	for at := 0; at < len(content); {
		end := at + int(content[at])
		switch {
		case end == at: // the rest of a sector is empty
			at = (at/isoSector + 1) * isoSector
			continue
		case end > len(content) || end-at <= isoName:
			return "", errors.New("a folder of the image is not well-formed")
		}
		r := isoRecord(content[at:end])
		at = end
		parameters, err := i.parameters(r, depth)
		if !errors.Is(err, errNoParameters) {
			return parameters, err
		}
	}
	return "", errNoParameters
}

// isoRecord is the record of a file or a folder.
type isoRecord []byte

// isoName is where the name is in a record.
const isoName = 33

func (r isoRecord) name() string {
	end := min(isoName+int(r[isoName-1]), len(r))
	name, _, _ := strings.Cut(string(r[isoName:end]), ";")
	return strings.ToLower(name)
}

func (r isoRecord) isFolder() bool { return r[25]&2 != 0 }

// read returns the content of a file or a folder, which must not be longer than most.
func (i *isoReader) read(r isoRecord, most uint32) ([]byte, error) {
	if i.left--; i.left < 0 {
		return nil, fmt.Errorf("the image has no kernel parameters in its first %d files", maxISOReads)
	}
	start, size := binary.LittleEndian.Uint32(r[2:]), binary.LittleEndian.Uint32(r[10:])
	if size > most {
		return nil, fmt.Errorf("a file of the image has %d bytes, want at most %d", size, most)
	}
	content := make([]byte, size)
	_, err := i.image.ReadAt(content, int64(start)*isoSector)
	return content, err
}

// parameters returns the kernel parameters in a file or below a folder.
func (i *isoReader) parameters(r isoRecord, depth int) (string, error) {
	name := r.name()
	switch {
	case r.isFolder() && name != "\x00" && name != "\x01" && depth < maxISODepth: // the folder itself, and its parent
		return i.find(r, depth+1)
	case r.isFolder() || !strings.HasSuffix(name, ".cfg"):
		return "", errNoParameters
	}
	content, err := i.read(r, maxISOConfig)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "append" && !strings.HasPrefix(words[0], "linux") {
			continue
		}
		for n, word := range words {
			words[n] = strings.Trim(word, `'"`)
		}
		if words[0] != "append" {
			words = words[1:] // the kernel
		}
		return strings.Join(words[1:], " "), nil
	}
	return "", errNoParameters
}
