// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/program"
)

// recording says which BMC is recorded, and how it is reached.
type recording struct {
	folder, url, user, password string
	authorities                 *x509.CertPool // nil for the operating system's
	unverified                  bool           // the BMC's certificate is not verified
}

const (
	requestTimeout = 2 * time.Minute // a BMC may take a minute for its inventory
	largest        = 16 << 20        // bytes of an answer
	progressEvery  = 2 * time.Second
)

// record reads a BMC and writes its resources, redacted, to the folder. Nothing is written before all is redacted.
func (c recording) record(ctx context.Context, out, errOut io.Writer) error {
	base, err := url.Parse(c.url)
	switch {
	case c.folder == "":
		return program.Usagef("-record is missing: want the folder to record into")
	case err != nil || base.Scheme != "https" || base.Host == "" || base.User != nil || strings.Trim(base.Path, "/") != "":
		return program.Usagef("-redfish is no URL such as https://10.1.2.3: the user is for -user, and the password for $BMC_PASSWORD")
	case c.user == "" || c.password == "":
		return program.Usagef("-user or $BMC_PASSWORD is missing")
	}
	if entries, err := os.ReadDir(c.folder); err == nil && len(entries) > 0 {
		return program.Usagef("-record names %s, which is not empty", c.folder)
	}
	b := &service{recording: c, base: base, client: client(c)}
	defer b.client.CloseIdleConnections()
	if err := b.login(ctx); err != nil {
		return err
	}
	defer b.logout()
	last := time.Now()
	w := &walk{bounds: defaultBounds, get: b.get, progress: func(w *walk, path string) {
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(errOut, "%d resources read, %d more known, %.1f MB; now %s\n", len(w.found), len(w.waiting), float64(w.size)/1e6, path)
		}
	}}
	fmt.Fprintf(errOut, "reading %s; this may take many minutes, and nothing is written before the end\n", base.Host)
	if err := w.run(ctx); err != nil {
		return err
	}
	r := newRedactor(c.password, c.user, base.Hostname())
	redacted := r.all(w.found)
	if err := write(c.folder, redacted); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d resources are in %s, and %d could not be read\n", len(redacted), c.folder, len(w.unread))
	for _, k := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(out, "replaced or removed: %d %s\n", r.counts[k], k)
	}
	for _, unread := range w.unread {
		fmt.Fprintf(errOut, "not read: %s\n", unread)
	}
	fmt.Fprintf(out, "Look through the folder before you give it away, and try it: go run ./e2e/vendors -trees %s\n", c.folder)
	return nil
}

// all returns all resources, redacted, by their redacted paths.
func (r *redactor) all(resources map[string]object) map[string]object {
	paths := slices.Sorted(maps.Keys(resources))
	for _, path := range paths {
		r.path(path)
		r.resource(resources[path])
	}
	delete(r.counts, removed)
	redacted := map[string]object{}
	for _, path := range paths {
		redacted[r.path(path)] = r.resource(resources[path])
	}
	return redacted
}

// write writes each resource to the file PATH/index.json. No path leads out of the folder.
func write(folder string, resources map[string]object) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	within, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = within.Close() }()
	for _, path := range slices.Sorted(maps.Keys(resources)) {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		at := filepath.FromSlash(strings.TrimPrefix(path, "/"))
		err := cmp.Or(encoder.Encode(resources[path]), within.MkdirAll(at, 0o755))
		if err == nil {
			err = within.WriteFile(filepath.Join(at, "index.json"), text.Bytes(), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// service is the Redfish service of a BMC, with a session, or with Basic authentication if there are no sessions.
type service struct {
	recording
	base    *url.URL
	client  *http.Client
	token   string
	session string // its path
}

// client returns a client of one BMC: credentials go nowhere else.
func client(c recording) *http.Client {
	config := &tls.Config{RootCAs: c.authorities, InsecureSkipVerify: c.unverified}
	return &http.Client{
		Timeout:   requestTimeout,
		Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 1},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme || len(via) > 3 {
				return errors.New("the BMC redirects to another host, or too often")
			}
			return nil
		},
	}
}

// do sends a request, and returns the answer with its body, of at most the largest size.
func (b *service) do(ctx context.Context, method, path string, body any, set func(*http.Request)) (*http.Response, []byte, error) {
	at, err := b.base.Parse(path)
	if err != nil {
		return nil, nil, err
	}
	if at.Host != b.base.Host || at.Scheme != b.base.Scheme {
		return nil, nil, errors.New("it is on another host")
	}
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, at.String(), sent)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("OData-Version", "4.0")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	set(r)
	answer, err := b.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, largest+1))
	if err == nil && len(text) > largest {
		err = fmt.Errorf("the answer has more than %d bytes", largest)
	}
	return answer, text, err
}

// login opens a session, unless the BMC has no sessions.
func (b *service) login(ctx context.Context) error {
	anonymous := func(*http.Request) {}
	_, text, err := b.do(ctx, http.MethodGet, root+"/", nil, anonymous)
	if err != nil {
		return err
	}
	var service object
	if err := json.Unmarshal(text, &service); err != nil {
		return fmt.Errorf("decode the service root: %w", err)
	}
	sessions, ok := at(service, "Links", "Sessions")["@odata.id"].(string)
	if !ok {
		return nil // Basic authentication
	}
	answer, _, err := b.do(ctx, http.MethodPost, sessions, object{"UserName": b.user, "Password": b.password}, anonymous)
	switch {
	case err != nil:
		return err
	case slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, answer.StatusCode):
		return nil
	case answer.StatusCode/100 != 2 || answer.Header.Get("X-Auth-Token") == "":
		return fmt.Errorf("the BMC opens no session: status %d", answer.StatusCode)
	}
	b.token, b.session = answer.Header.Get("X-Auth-Token"), answer.Header.Get("Location")
	return nil
}

func (b *service) authorize(r *http.Request) {
	if b.token != "" {
		r.Header.Set("X-Auth-Token", b.token)
	} else {
		r.SetBasicAuth(b.user, b.password)
	}
}

// logout closes the session, also after the end of the program's context.
func (b *service) logout() {
	if b.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _, _ = b.do(ctx, http.MethodDelete, b.session, nil, b.authorize) // the BMC ends an unused session itself
}

// get reads a resource, and returns the size of the answer.
func (b *service) get(ctx context.Context, path string) (object, int64, error) {
	answer, text, err := b.do(ctx, http.MethodGet, path, nil, b.authorize)
	if err != nil {
		return nil, int64(len(text)), err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, int64(len(text)), fmt.Errorf("status %d", answer.StatusCode)
	}
	var o object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&o); err != nil || o == nil {
		return nil, int64(len(text)), errors.Join(errors.New("the answer is no JSON object"), err)
	}
	return o, int64(len(text)), nil
}
