// SPDX-License-Identifier: Apache-2.0

// Package checksum verifies images by the checksums of a node's instance_info, which are digests in hexadecimal digits
// or URLs of files that contain them:
//
//	if checksum.IsURL(digest) {
//		f := checksum.Finder{Name: "image.qcow2"}
//		_, err := io.Copy(&f, file)
//		...
//		digest, found = f.Digest()
//	}
//	sum := checksum.New("sha256", digest)
//	...
//	if !checksum.Equal(sum, digest) {
//
// Source: ironic/common/checksum_utils.py, and _fetch_checksum and ImageDownload in
// ironic_python_agent/extensions/standby.py.
package checksum

import (
	"bytes"
	"cmp"
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
	if make, ok := algorithms[cmp.Or(algorithm, algorithmOf[len(digest)])]; ok {
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

// maxLine bounds a line of a file of checksums: no longer one has a digest.
const maxLine = 4 << 10

// Finder is an [io.Writer] that finds the digest of the file Name in what is written to it, a text such as SHA256SUMS
// or one with a single word. It keeps one line of the text.
type Finder struct {
	Name string

	line         []byte // the current one, up to maxLine+1 bytes
	lines        int    // that are not empty
	only, digest string // the word of the first line, if it has no other, and the digest in the line of the file
}

// Write implements [io.Writer]. It never fails.
func (f *Finder) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n")
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		f.line = append(f.line, part[:min(len(part), maxLine+1-len(f.line))]...)
		if end < 0 {
			break
		}
		f.endLine()
		rest = rest[end+1:]
	}
	return len(text), nil
}

// endLine reads the current line.
func (f *Finder) endLine() {
	if len(f.line) == 0 {
		return
	}
	f.lines++
	if len(f.line) <= maxLine {
		switch fields := strings.Fields(string(f.line)); {
		case len(fields) == 1 && f.lines == 1:
			f.only = fields[0]
		case len(fields) == 2 && f.digest == "" && strings.TrimLeft(fields[1], "*") == f.Name:
			f.digest = fields[0]
		}
	}
	f.line = f.line[:0]
}

// Digest returns the digest when the whole text is written.
func (f *Finder) Digest() (digest string, found bool) {
	f.endLine()
	digest = f.digest
	if f.lines == 1 {
		digest = cmp.Or(f.only, digest)
	}
	return digest, digest != ""
}
