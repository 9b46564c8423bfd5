// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"

	"github.com/ironstate/ironstate/internal/checksum"
)

// imageInfo is the image of the step write_image. The sizes are the partitions' in a partition image, in MiB.
//
// Source: _validate_image_info in ironic_python_agent/extensions/standby.py.
type imageInfo struct {
	ID          string   `json:"id"`
	URLs        []string `json:"urls"`
	DiskFormat  string   `json:"disk_format"`
	Stream      bool     `json:"stream_raw_images"`
	Checksum    string   `json:"checksum"`
	Algorithm   string   `json:"os_hash_algo"`
	Hash        string   `json:"os_hash_value"`
	ImageType   string   `json:"image_type"`
	ConfigDrive string   `json:"configdrive"`

	Root      int64 `json:"root_mb"`
	Swap      int64 `json:"swap_mb"`
	Ephemeral int64 `json:"ephemeral_mb"`
	Preserve  bool  `json:"preserve_ephemeral"`
}

// partition reports whether the image is a partition's content.
func (i imageInfo) partition() bool { return i.ImageType == "partition" }

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
		write := a.writeDiskImage
		if image.partition() {
			write = a.writePartitionImage
		}
		partitions, err := write(ctx, d, image, drive)
		if err != nil {
			return err
		}
		a.mu.Lock()
		a.partitions = partitions
		a.mu.Unlock()
		result = fmt.Sprintf("prepare_image: image (%s) written to device %s root_uuid=%s", image.ID, device, partitions["root uuid"])
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"result": result}, nil
}

// writeDiskImage writes the image of a whole disk, makes the partition of a config drive, and returns the answer of
// get_partition_uuids.
func (a *agent) writeDiskImage(ctx context.Context, d disk, image imageInfo, drive string) (map[string]any, error) {
	if err := d.eraseMetadata(); err != nil {
		return nil, err
	}
	err := imageClient{a.machine.http}.copyImage(ctx, image, func(int64) (io.Writer, error) { return d.writer(partition{0, d.size}), nil })
	if err != nil {
		return nil, err
	}
	if present, err := d.partitions(); err != nil {
		return nil, deploymentFailed("Unable to find a valid partition table on the disk after writing the image. "+
			"The image may be corrupted. Error: %v", err)
	} else if len(present) == 0 {
		return nil, deploymentFailed("No partitions found on the device %s after writing the image.", device)
	}
	if drive != "" {
		if err := a.writeConfigDrive(ctx, d, drive); err != nil {
			return nil, err
		}
	}
	id, err := d.identifier()
	return map[string]any{"root uuid": id}, err
}

func (i imageInfo) check() error {
	switch {
	case i.ID == "":
		return invalidParams("Image is missing 'id' field.")
	case len(i.URLs) == 0:
		return invalidParams("Image 'urls' must be a list with at least one element.")
	case i.Checksum == "" && (i.Algorithm == "" || i.Hash == ""):
		return invalidParams("Image checksum is not available, either the 'checksum' field or the 'os_hash_algo' and 'os_hash_value' " +
			"fields pair must be set for image verification.")
	}
	return nil
}

func invalidImage(format string, args ...any) error {
	return newFailure("InvalidImage", http.StatusInternalServerError, "The provided image is not valid for use", format, args...)
}

// imageClient downloads images and their checksums.
type imageClient struct{ http *http.Client }

// copyImage copies the content of an image to the part of the disk that place returns for its size, and verifies its
// checksum. A raw image is written while it is downloaded; its size is then unknown, and 0. Any other is downloaded
// first.
//
// Source: _cache_and_write_image and _stream_raw_image_onto_device in ironic_python_agent/extensions/standby.py.
func (i imageClient) copyImage(ctx context.Context, image imageInfo, place func(size int64) (io.Writer, error)) error {
	if image.Stream && image.DiskFormat == "raw" {
		return i.fetchImage(ctx, image, func() (io.Writer, error) { return place(0) }, "device "+device, device)
	}
	file, err := os.CreateTemp("", "agenttest-*.image")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := i.fetchImage(ctx, image, func() (io.Writer, error) { return file, nil }, file.Name(), file.Name()); err != nil {
		return err
	}
	content, size, err := openImage(file, image.DiskFormat)
	if err != nil {
		return err
	}
	to, err := place(size)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, io.NewSectionReader(content, 0, size)); err != nil {
		return writeFailed("1", err.Error())
	}
	return nil
}

// fetchImage downloads an image, writes it and verifies its checksum. It calls to once the download has begun.
// If the write fails, the error contains name; if the verification fails, it contains location.
func (i imageClient) fetchImage(ctx context.Context, image imageInfo, to func() (io.Writer, error), name, location string) error {
	sum, wanted, err := i.checksum(ctx, image)
	if err != nil {
		return err
	}
	body, err := i.download(ctx, image.URLs[0], image.ID)
	if err != nil {
		return err
	}
	defer body.Close()
	w, err := to()
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.MultiWriter(w, sum), body); err != nil {
		return downloadFailed(image.ID, "Unable to write image to %s. Error: %v", name, err)
	}
	if !checksum.Equal(sum, wanted) {
		return newFailure("ImageChecksumError", http.StatusInternalServerError, "Error verifying image checksum",
			"Image failed to verify against checksum. location: %s; image ID: %s; image checksum: %s; verification checksum: %x",
			image.ID, location, wanted, sum.Sum(nil))
	}
	return nil
}

// checksum returns the hash of the algorithm that an image is verified with, and the digest.
func (i imageClient) checksum(ctx context.Context, image imageInfo) (sum hash.Hash, digest string, err error) {
	algorithm, digest := image.Algorithm, image.Hash
	if algorithm == "" || digest == "" {
		algorithm, digest = "", image.Checksum
	}
	if checksum.IsURL(digest) {
		if digest, err = i.fetchChecksum(ctx, digest, image); err != nil {
			return nil, "", err
		}
	}
	if sum = checksum.New(algorithm, digest); sum == nil {
		return nil, "", newFailure("RESTError", http.StatusInternalServerError, "An error occurred",
			"Unable to verify image %s with available checksums. "+
				"Please make sure the specified 'os_hash_algo' (currently %s) is supported by this ramdisk, "+
				"or provide a md5 checksum via the 'checksum' field",
			image.ID, image.Algorithm)
	}
	return sum, digest, nil
}

func writeFailed(code, reason string) *failure {
	return newFailure("ImageWriteError", http.StatusInternalServerError, "Error writing image to device",
		"Writing image to device %s failed with exit code %s. stdout: . stderr: %s", device, code, reason)
}

func downloadFailed(id, format string, args ...any) *failure {
	return newFailure("ImageDownloadError", http.StatusInternalServerError, "Error downloading image",
		"Download of image %s failed: "+format, append([]any{id}, args...)...)
}

// download requests a file.
func (i imageClient) download(ctx context.Context, address, id string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, downloadFailed(id, "%v", err)
	}
	response, err := i.http.Do(request)
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
func (i imageClient) fetchChecksum(ctx context.Context, address string, image imageInfo) (string, error) {
	body, err := i.download(ctx, address, address)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var file checksum.Finder
	if u, err := url.Parse(image.URLs[0]); err == nil {
		file.Name = path.Base(u.Path)
	}
	if _, err := io.Copy(&file, io.LimitReader(body, checksum.MaxFile)); err != nil {
		return "", downloadFailed(address, "%v", err)
	}
	if digest, found := file.Digest(); found {
		return digest, nil
	}
	return "", downloadFailed(address, "Checksum file does not contain name %s", file.Name)
}
