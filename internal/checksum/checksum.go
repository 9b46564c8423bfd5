// SPDX-License-Identifier: Apache-2.0

// Package checksum verifies images by the checksums of a node's instance_info, which are digests in hexadecimal digits
// or URLs of files that contain them:
//
//	if checksum.IsURL(digest) {
//		digest, found = checksum.Find(text, "image.qcow2") // text is the content of the file
//	}
//	sum := checksum.New("sha256", digest)
//	...
//	if !checksum.Equal(sum, digest) {
//
// Source: ironic/common/checksum_utils.py, and _fetch_checksum and ImageDownload in
// ironic_python_agent/extensions/standby.py.
package checksum

import (
	"crypto/md5" // Ironic still has MD5 checksums
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"strings"
)

// MaxFile bounds a file of checksums in bytes.
const MaxFile = 1 << 20

var algorithms = map[string]func() hash.Hash{"md5": md5.New, "sha256": sha256.New, "sha512": sha512.New}

// algorithmOf maps the number of digits of a digest to its algorithm.
var algorithmOf = map[int]string{2 * md5.Size: "md5", 2 * sha256.Size: "sha256", 2 * sha512.Size: "sha512"}

// New returns the hash of an algorithm: md5, sha256 or sha512. An empty algorithm stands for the one whose digests have
// as many digits as this one. New returns nil for any other.
func New(algorithm, digest string) hash.Hash {
	if algorithm == "" {
		algorithm = algorithmOf[len(digest)]
	}
	if make, ok := algorithms[algorithm]; ok {
		return make()
	}
	return nil
}

// Equal reports whether the data that was written to a hash has a digest.
func Equal(sum hash.Hash, digest string) bool {
	return strings.EqualFold(hex.EncodeToString(sum.Sum(nil)), digest)
}

// IsURL reports whether a checksum is the URL of a file.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// Find finds the digest of a file in a text such as SHA256SUMS, or the only word of the text.
func Find(text, name string) (digest string, found bool) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(lines) == 1 && len(fields) == 1 {
			return fields[0], true
		}
		if len(fields) == 2 && strings.TrimLeft(fields[1], "*") == name {
			return fields[0], true
		}
	}
	return "", false
}
