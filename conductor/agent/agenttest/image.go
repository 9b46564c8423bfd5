// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"context"
	"crypto/md5" // Ironic still has MD5 checksums
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// maxChecksums bounds a file of checksums in bytes.
const maxChecksums = 1 << 20

// imageInfo is the image of the step write_image.
//
// Source: _validate_image_info in ironic_python_agent/extensions/standby.py.
type imageInfo struct {
	ID          string   `json:"id"`
	URLs        []string `json:"urls"`
	DiskFormat  string   `json:"disk_format"`
	Checksum    string   `json:"checksum"`
	Algorithm   string   `json:"os_hash_algo"`
	Hash        string   `json:"os_hash_value"`
	ImageType   string   `json:"image_type"`
	ConfigDrive string   `json:"configdrive"`
}

// hashes are the algorithms, with the number of digits by which a plain checksum tells its algorithm.
var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha256": sha256.New, "sha512": sha512.New}

var algorithmOf = map[int]string{2 * md5.Size: "md5", 2 * sha256.Size: "sha256", 2 * sha512.Size: "sha512"}

// writeImage downloads an image, verifies it and writes it to the disk, and makes the partition of a config drive.
//
// Source: prepare_image in ironic_python_agent/extensions/standby.py.
func (a *agent) writeImage(ctx context.Context, args map[string]any) (any, error) {
	var given struct {
		Image       imageInfo `json:"image_info"`
		ConfigDrive string    `json:"configdrive"`
	}
	text, err := json.Marshal(args)
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	image := given.Image
	if err := image.check(); err != nil {
		return nil, err
	}
	if err := a.matchHints(); err != nil {
		return nil, err
	}
	drive := given.ConfigDrive
	if drive == "" {
		drive = image.ConfigDrive
	}
	result := ""
	err = a.machine.change(ctx, func(d disk) error {
		if err := d.eraseMetadata(); err != nil {
			return err
		}
		if err := a.stream(ctx, d, image); err != nil {
			return err
		}
		if present, err := d.partitions(); err != nil {
			return deploymentFailed("Unable to find a valid partition table on the disk after writing the image. The image may be corrupted. Error: %v", err)
		} else if len(present) == 0 {
			return deploymentFailed("No partitions found on the device %s after writing the image.", device)
		}
		if drive != "" {
			if err := a.writeConfigDrive(ctx, d, drive); err != nil {
				return err
			}
		}
		id, err := d.identifier()
		if err != nil {
			return err
		}
		a.mu.Lock()
		a.partitions = map[string]any{"root uuid": id}
		a.mu.Unlock()
		result = fmt.Sprintf("prepare_image: image (%s) written to device %s root_uuid=%s", image.ID, device, id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"result": result}, nil
}

func (i imageInfo) check() error {
	switch {
	case i.ID == "":
		return invalidParams("Image is missing 'id' field.")
	case len(i.URLs) == 0:
		return invalidParams("Image 'urls' must be a list with at least one element.")
	case i.Checksum == "" && (i.Algorithm == "" || i.Hash == ""):
		return invalidParams("Image checksum is not available, either the 'checksum' field or the 'os_hash_algo' and 'os_hash_value' fields pair must be set for image verification.")
	case i.ImageType == "partition":
		return invalidImage("agenttest does not write partition images")
	case i.DiskFormat != "raw":
		return invalidImage("agenttest writes raw images only: the format of image %s is %q", i.ID, i.DiskFormat)
	}
	return nil
}

func invalidImage(format string, args ...any) error {
	return failed("InvalidImage", http.StatusInternalServerError, "The provided image is not valid for use", format, args...)
}

// stream writes an image to the disk and verifies its checksum.
func (a *agent) stream(ctx context.Context, d disk, image imageInfo) error {
	algorithm, wanted := image.Algorithm, image.Hash
	if algorithm == "" || wanted == "" {
		algorithm, wanted = "", image.Checksum
	}
	if strings.HasPrefix(wanted, "http://") || strings.HasPrefix(wanted, "https://") {
		var err error
		if wanted, err = a.fetchChecksum(ctx, wanted, image); err != nil {
			return err
		}
	}
	if algorithm == "" {
		algorithm = algorithmOf[len(wanted)]
	}
	newHash, ok := hashes[algorithm]
	if !ok {
		return failed("RESTError", http.StatusInternalServerError, "An error occurred", "Unable to verify image %s with available checksums. "+
			"Please make sure the specified 'os_hash_algo' (currently %s) is supported by this ramdisk, or provide a md5 checksum via the 'checksum' field",
			image.ID, image.Algorithm)
	}
	body, err := a.download(ctx, image.URLs[0], image.ID)
	if err != nil {
		return err
	}
	defer body.Close()
	sum := newHash()
	if _, err := io.Copy(io.MultiWriter(&bounded{w: io.NewOffsetWriter(d.file, 0), left: d.size}, sum), body); err != nil {
		return downloadFailed(image.ID, "Unable to write image to device %s. Error: %v", device, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, wanted) {
		return failed("ImageChecksumError", http.StatusInternalServerError, "Error verifying image checksum",
			"Image failed to verify against checksum. location: %s; image ID: %s; image checksum: %s; verification checksum: %s", image.ID, device, wanted, got)
	}
	return nil
}

// bounded writes no more than the size of the disk.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("[Errno 28] No space left on device")
	}
	return b.w.Write(p)
}

func downloadFailed(id, format string, args ...any) *failure {
	return failed("ImageDownloadError", http.StatusInternalServerError, "Error downloading image", "Download of image %s failed: "+format, append([]any{id}, args...)...)
}

// download requests a file.
func (a *agent) download(ctx context.Context, address, id string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, downloadFailed(id, "%v", err)
	}
	response, err := a.machine.http.Do(request)
	if err != nil {
		return nil, downloadFailed(id, "URL: %s; Error: %v", address, err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, downloadFailed(id, "URL: %s; Error: Received status code %d from %s, expected 200.", address, response.StatusCode, address)
	}
	return response.Body, nil
}

// fetchChecksum finds the checksum of an image in a file such as SHA256SUMS, or in one that has nothing else.
//
// Source: _fetch_checksum in ironic_python_agent/extensions/standby.py.
func (a *agent) fetchChecksum(ctx context.Context, address string, image imageInfo) (string, error) {
	body, err := a.download(ctx, address, address)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxChecksums))
	if err != nil {
		return "", downloadFailed(address, "%v", err)
	}
	name := ""
	if u, err := url.Parse(image.URLs[0]); err == nil {
		name = path.Base(u.Path)
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(lines) == 1 && len(fields) == 1 {
			return fields[0], nil
		}
		if len(fields) == 2 && strings.TrimLeft(fields[1], "*") == name {
			return fields[0], nil
		}
	}
	return "", downloadFailed(address, "Checksum file does not contain name %s", name)
}

// Image returns a raw image of a whole disk, with a master boot record and one partition whose bytes differ between
// seeds. The size in bytes is rounded up to whole MiB, and is at least 2 MiB.
func Image(size int, seed byte) []byte {
	image := make([]byte, max(2*alignment, (size+alignment-1)/alignment*alignment))
	block := image[alignment : 2*alignment]
	for i := range block {
		block[i] = byte(i>>9) ^ byte(i) ^ seed
	}
	for i := 2 * alignment; i < len(image); i += alignment {
		copy(image[i:], block)
		binary.LittleEndian.PutUint32(image[i:], uint32(i))
	}
	binary.LittleEndian.PutUint32(image[440:], 0x6f7cc400|uint32(seed))
	putMBR(mbrEntry(image[:sector], 0), mbrLinux, partition{start: alignment, size: int64(len(image) - alignment)})
	image[510], image[511] = 0x55, 0xaa
	return image
}
