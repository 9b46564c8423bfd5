// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// booter reads boot images and decides whether a machine boots an agent, and with which parameters. It is safe for
// concurrent use.
type booter struct {
	client *http.Client
	api    string // URL; "" if boot images have it
}

// boot returns the kernel parameters of the agent that a machine boots from a source of Redfish's boot override and the
// image of a virtual CD or USB stick, or no agent. An image that names an API in its kernel parameters has an agent,
// and an image without kernel parameters has one if there is an API.
func (b *booter) boot(ctx context.Context, source, image string) (parameters string, agent bool) {
	switch source {
	case "Pxe", "UefiHttp":
		return "", b.api != ""
	case "Cd", "Usb":
		if image == "" {
			return "", false
		}
	default:
		return "", false
	}
	parameters, err := kernelParameters(remote{ctx, b.client, image})
	switch {
	case err != nil:
		return "", b.api != ""
	case strings.Contains(" "+parameters, " ipa-api-url="):
		return parameters, true
	default:
		return "", false
	}
}

// remote reads parts of a file at a URL.
type remote struct {
	ctx    context.Context
	client *http.Client
	url    string
}

// ReadAt implements [io.ReaderAt]. A server that does not know ranges sends the file from its start.
func (r remote) ReadAt(p []byte, offset int64) (int, error) {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+int64(len(p))-1))
	answer, err := r.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		if _, err := io.CopyN(io.Discard, answer.Body, offset); err != nil {
			return 0, err
		}
	default:
		return 0, errors.New(answer.Status)
	}
	return io.ReadFull(answer.Body, p)
}
