// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/checksum"
	"github.com/ironstate/ironstate/internal/errtext"
)

// headTimeout bounds the check of the URL of an instance's image.
const headTimeout = time.Minute

// imageSuffix ends the name of a published image of an instance.
const imageSuffix = ".img"

// downloadSource is the key of driver_info that says who downloads the image of an instance.
const downloadSource = "image_download_source"

// agentTexts are the properties of the deploy interfaces that use the agent.
var agentTexts = map[string]string{
	"deploy_forces_oob_reboot": "Whether the BMC powers the machine off after a deployment, rather than the agent; false by default.",
	downloadSource: "With direct: who downloads the image. With http the agent does. " +
		"With local the service does, and serves it to the agent.",
	"image_http_proxy":  "With direct: URL of the proxy through which the agent downloads images by HTTP.",
	"image_https_proxy": "With direct: URL of the proxy through which the agent downloads images by HTTPS.",
	"agent_verify_ca": "How the certificate of an agent is verified that sends none in its heartbeats: true, false, " +
		"or the path of a file with certificates.",
	"image_no_proxy": "With direct: comma-separated host names, IP addresses and domain names, such as .example.org, " +
		"that the agent reaches without the proxy.",
}

// validateImage refuses a node whose image the deploy interface "direct" cannot write.
//
// Source: validate_http_provisioning_configuration in ironic/drivers/modules/agent.py.
func (c Config) validateImage(n *conductor.Node) error {
	image, err := n.InstanceImage(c.ImageDownloadSource)
	if err != nil || !image.Local {
		return err
	}
	if c.Images == nil {
		return invalidf("Node %s failed to validate http provisioning. The image would have to be served to the agent, "+
			"and no images are served.", n.UUID)
	}
	if err := c.Images.CheckSource(image.Source); err != nil {
		return invalidf("Node %s has an image_source that cannot be served: %v.", n.UUID, err)
	}
	return nil
}

// PrepareImage implements [conductor.ImageServer]. It does not convert a local image; the agent does.
//
// Source: build_instance_info_for_deploy in ironic/drivers/modules/deploy_utils.py.
func (t *Type) PrepareImage(ctx context.Context, n *conductor.Node) (conductor.InstanceImage, error) {
	if _, err := t.node(n); err != nil {
		return conductor.InstanceImage{}, err
	}
	if err := t.config.validateImage(n); err != nil {
		return conductor.InstanceImage{}, err
	}
	image, err := n.InstanceImage(t.config.ImageDownloadSource)
	if err != nil {
		return image, err
	}
	if !image.Local {
		image.Source, image.Size, err = t.config.headImage(ctx, image.Source)
		return image, err
	}
	return serveImage(ctx, t.config.Images, n.UUID, image)
}

// headImage requests the header of an image, and returns the URL to which it was redirected, and the image's size, 0 if
// it is unknown.
//
// Source: validate_href of HttpImageService in ironic/common/image_service.py.
func (c Config) headImage(ctx context.Context, source string) (location string, size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("Validation of image href %s failed, reason: "+format, append([]any{withoutPassword(source)}, args...)...)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, source, nil)
	if err != nil {
		return "", 0, invalid("it is not a URL")
	}
	answer, err := c.Client.Do(r)
	if err != nil {
		return "", 0, invalid("%w", errtext.WithoutURL(err))
	}
	_ = answer.Body.Close() // it is empty
	if answer.StatusCode != http.StatusOK {
		return "", 0, invalid("Got HTTP code %d instead of 200 in response to HEAD request.", answer.StatusCode)
	}
	return answer.Request.URL.String(), max(answer.ContentLength, 0), nil
}

func withoutPassword(source string) string {
	at, err := url.Parse(source)
	if err != nil {
		return "of an invalid URL"
	}
	return at.Redacted()
}

// serveImage downloads an image, verifies it, and publishes it for a node. The result has the checksum of the
// published file, so that the agent needs neither MD5 nor a file of checksums.
//
// Source: _cache_and_convert_image in ironic/drivers/modules/deploy_utils.py.
func serveImage(ctx context.Context, server *images.Server, node string, image conductor.InstanceImage) (conductor.InstanceImage, error) {
	algorithm, digest := image.Algorithm, image.Hash
	if digest == "" {
		algorithm, digest = "", image.Checksum
	}
	if checksum.IsURL(digest) {
		at, err := url.Parse(image.Source)
		if err != nil {
			return image, err
		}
		file := checksum.Finder{Name: path.Base(at.Path)}
		if err := server.Download(ctx, digest, &file, checksum.MaxFile); err != nil {
			return image, fmt.Errorf("load the checksum of the image: %w", err)
		}
		found := false
		if digest, found = file.Digest(); !found {
			return image, fmt.Errorf("the file of checksums does not contain %s", file.Name)
		}
	}
	published := checksum.New("sha256", "")
	wanted := checksum.New(algorithm, digest)
	if wanted == nil && digest != "" {
		return image, errors.New("the image cannot be verified: its checksum is neither MD5 nor SHA256 nor SHA512")
	}
	size := int64(0)
	location, err := server.Publish(node, imageSuffix, func(f *os.File) error {
		to := io.MultiWriter(f, published)
		if wanted != nil {
			to = io.MultiWriter(to, wanted)
		}
		if err := server.DownloadImage(ctx, image.Source, to); err != nil {
			return err
		}
		if wanted != nil && !checksum.Equal(wanted, digest) {
			return fmt.Errorf("its checksum is %x, and the node's instance_info has %s", wanted.Sum(nil), digest)
		}
		info, err := f.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	if err != nil {
		return image, fmt.Errorf("provide the image: %w", err)
	}
	return conductor.InstanceImage{
		Source:    location,
		Local:     true,
		Algorithm: "sha256",
		Hash:      fmt.Sprintf("%x", published.Sum(nil)),
		Size:      size,
	}, nil
}

// withdraw withdraws the files that are published for a node whose names end in a suffix; "" stands for all.
func (c *Config) withdraw(n Node, suffix string) error {
	if c.Images == nil {
		return nil
	}
	return c.Images.Withdraw(n.UUID, suffix)
}
