// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// imagesIn returns the flags for images that are built from files in a new folder.
func imagesIn(t *testing.T, location string, more ...string) []string {
	t.Helper()
	folder := t.TempDir()
	args := append(more, "-demo", "0", "-image-url", location, "-image-folder", folder, "-api-url", "http://192.0.2.1:6385",
		"-kernel-append-params", "quiet")
	for flag, name := range map[string]string{"-deploy-kernel": "ipa.kernel", "-deploy-ramdisk": "ipa.initramfs", "-bootloader": "esp.img"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600))
		args = append(args, flag, "file://"+filepath.Join(folder, name))
	}
	return args
}

// boot makes a node of a new BMC wait for its agent. It returns the URL of the agent's image, as the BMC has it.
func boot(t *testing.T, s *server) (image string) {
	t.Helper()
	return deploy(t, s, "node-1", "wait call-back", nil)
}

// deploy deploys a node of a new BMC with more in its driver_info, and waits for a state.
func deploy(t *testing.T, s *server, name, state string, more map[string]any) (image string) {
	t.Helper()
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bmc.Close() })
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, bmc.CAPEM, 0o600))
	info := map[string]any{
		"redfish_address": bmc.URL, "redfish_username": bmctest.DefaultUser, "redfish_password": bmctest.DefaultPassword, "redfish_verify_ca": ca,
	}
	maps.Copy(info, more)
	body, err := json.Marshal(map[string]any{
		"name": name, "driver": "redfish", "boot_interface": "redfish-virtual-media", "deploy_interface": "custom-agent",
		"automated_clean": false, "driver_info": info,
	})
	require.NoError(t, err)
	status, answer := s.do(http.MethodPost, "/v1/nodes", string(body))
	require.Equal(t, http.StatusCreated, status, "%v", answer)
	for _, step := range [][2]string{{"manage", "manageable"}, {"provide", "available"}, {"active", state}} {
		status, answer := s.do(http.MethodPut, "/v1/nodes/"+name+"/states/provision", `{"target": "`+step[0]+`"}`)
		require.Equal(t, http.StatusAccepted, status, "%v", answer)
		s.waitFor(name, step[1])
	}
	return bmc.Media("CD")
}

// download gets a URL without a password.
func download(t *testing.T, s *server, location string) (status int, size int64) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
	require.NoError(t, err)
	answer, err := s.client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	size, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, size
}

func TestABMCLoadsTheImageOfAnAgent(t *testing.T) {
	s := serveHere(t, imagesIn(t, "http://images.example/boot")...)
	image := boot(t, s)
	require.Regexp(t, `^http://images\.example/boot/[0-9a-f-]{69}\.iso$`, image)
	at, err := url.Parse(image)
	require.NoError(t, err)
	status, size := download(t, s, s.url+at.Path)
	require.Equal(t, http.StatusOK, status)
	require.Greater(t, size, int64(40_000))
	status, _ = download(t, s, s.url+"/boot/")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = download(t, s, s.url+"/v1/nodes")
	require.Equal(t, http.StatusOK, status, "the API is beside it")

	s.do(http.MethodPut, "/v1/nodes/node-1/states/provision", `{"target": "deleted"}`)
	s.waitFor("node-1", "available")
	status, _ = download(t, s, s.url+at.Path)
	require.Equal(t, http.StatusNotFound, status, "it contains the agent's token")
}

// SECURITY.md: A redirect is followed to the host and port that answers with it, or to hosts of `-image-host`, and none
// from https to http. Nothing is downloaded from a loopback, link-local, multicast or unspecified address, whatever a
// name resolves to, unless `-image-host` or another flag names its host.
func TestAnImageOfThisHostIsDownloadedIfTheOperatorAllowsIt(t *testing.T) {
	var asked atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, "a secret of this host")
	}))
	defer secret.Close()
	other := httptest.NewServer(http.RedirectHandler(secret.URL, http.StatusFound))
	defer other.Close()
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for name, c := range map[string]struct {
		allowed []string
		kernel  string
		state   string
		want    string // part of last_error
		asked   bool
	}{
		"named": {nil, secret.URL, "deploy failed",
			"is in 127.0.0.0/8, from which nothing is downloaded unless the host is allowed", false},
		"named and allowed": {[]string{"-image-host", at(secret)}, secret.URL, "wait call-back", "", true},
		"redirected": {[]string{"-image-host", at(other)}, other.URL, "deploy failed",
			"it redirects to " + at(secret) + ", which is neither the same host and port nor allowed", false},
		"redirected, allowed":   {[]string{"-image-host", at(other), "-image-host", at(secret)}, other.URL, "wait call-back", "", true},
		"named by another flag": {[]string{"-bootloader", secret.URL}, secret.URL, "wait call-back", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			s := serveHere(t, append(imagesIn(t, "http://images.example/boot"), c.allowed...)...)
			deploy(t, s, "node-1", c.state, map[string]any{"deploy_kernel": c.kernel, "deploy_ramdisk": c.kernel})
			_, n := s.do(http.MethodGet, "/v1/nodes/node-1", "")
			if c.want != "" {
				require.Contains(t, n["last_error"], c.want)
			}
			require.Equal(t, c.asked, asked.Load() > 0)
		})
	}
}

func TestImagesHaveAPortOfTheirOwn(t *testing.T) {
	needs.Time(t) // the port may be taken before the program listens
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	at := free[0]
	s := serveHere(t, imagesIn(t, "http://"+at, "-image-listen", at)...)
	image := boot(t, s)
	status, size := download(t, s, image)
	require.Equal(t, http.StatusOK, status)
	require.Greater(t, size, int64(40_000))
	status, _ = download(t, s, "http://"+at+"/v1/nodes")
	require.Equal(t, http.StatusNotFound, status, "the API is not served there")
}

func TestWrongFlagsForImagesAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"-image-url and -image-folder need each other": {"-image-url", "http://192.0.2.1/images"},
		"-image-listen needs -image-url":               {"-image-listen", "127.0.0.1:0"},
		`-image-url is "http://192.0.2.1:6385/": on the API's port it needs a path`: {"-image-url", "http://192.0.2.1:6385/",
			"-image-folder", "."},
		`-image-url is "http://192.0.2.1:6385/v1/x": on the API's port it needs a pat`: {"-image-url", "http://192.0.2.1:6385/v1/x",
			"-image-folder", "."},
		"-image-download-source is local, which needs -image-url": {"-image-download-source", "local"},
		`-image-url: images: URL is "ftp://x/images"`: {
			"-image-url", "ftp://x/images", "-image-folder", ".", "-image-listen", "127.0.0.1:0"},
		`-image-host or the URL of an image: images: hosts is "http://images.example"`: {"-image-host", "http://images.example"},
		"-kernel-append-params: kernel parameters with a double quote":                 {"-kernel-append-params", `a="b`},
		`-deploy-kernel-by-arch and -deploy-ramdisk-by-arch is "aarch64": want both a kernel and a ramdisk, or neither`: {
			"-deploy-kernel-by-arch", "aarch64=http://192.0.2.1/k"},
		"want architecture=URL":                    {"-bootloader-by-arch", "aarch64"},
		`-api-url is "192.0.2.1:6385": want a URL`: {"-api-url", "192.0.2.1:6385"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage)
		require.ErrorContains(t, err, want)
	}
}

func TestThePathOfTheImagesHidesNoOtherPathOfTheirPort(t *testing.T) {
	refuses := func(path string) {
		at := "http://192.0.2.1:6385" + path
		_, err := parse([]string{"-image-url", at, "-image-folder", "."}, io.Discard)
		require.ErrorContains(t, err, fmt.Sprintf("-image-url is %q: on the API's port it needs a path of its own", at))
		require.ErrorIs(t, err, program.ErrUsage)
		_, err = parse([]string{"-image-url", at, "-image-folder", ".", "-image-listen", "127.0.0.1:0"}, io.Discard)
		require.NoError(t, err)
	}
	for _, path := range []string{"", "/", "/v1", "/v1/", "/v1/x", "//nodes/x", "/explorer", "/metrics", "/healthz", "/readyz/x"} {
		refuses(path)
	}
	_, document := serveHere(t, "-demo", "0").do(http.MethodGet, "/v1", "")
	resources := 0
	for name, value := range document {
		if links, is := value.([]any); is && len(links) == 2 && strings.HasSuffix(links[0].(map[string]any)["href"].(string), "/v1/"+name+"/") {
			refuses("/" + name + "/x")
			resources++
		}
	}
	require.Equal(t, 16, resources)
	for _, path := range []string{"/images", "/nodes-images/v1", "/images/nodes", "/V1"} {
		_, err := parse([]string{"-image-url", "http://192.0.2.1:6385" + path, "-image-folder", "."}, io.Discard)
		require.NoError(t, err, path)
	}
}

func TestTheFilesOfAnArchitectureAreParsed(t *testing.T) {
	o, err := parse([]string{
		"-deploy-kernel-by-arch", "aarch64=http://192.0.2.1/k?a=b", "-deploy-ramdisk-by-arch", "aarch64=http://192.0.2.1/r",
		"-bootloader-by-arch", "ppc64le=http://192.0.2.1/esp",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, map[string]hardware.BootFiles{
		"aarch64": {Kernel: "http://192.0.2.1/k?a=b", Ramdisk: "http://192.0.2.1/r"}, "ppc64le": {Bootloader: "http://192.0.2.1/esp"},
	}, o.images.byArchitecture)
}
