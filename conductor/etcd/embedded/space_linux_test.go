// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
)

func init() { roles["small-disk"] = smallDisk }

// SECURITY.md: A write that was acknowledged is not lost when processes are killed or a disk is full.
func TestAFullDiskRefusesWritesUntilThereIsSpace(t *testing.T) {
	p := spawnMounted(t, "small-disk", t.TempDir())
	for _, want := range []string{
		"a node's verification is in flight",
		"a write is refused with 503",
		"reads are answered",
		"the verification has ended, and its result is not stored",
		"a write is accepted",
		"the result of the verification is stored: manageable",
		"every acknowledged node is there",
	} {
		require.Equal(t, want, p.Line(t))
	}
	require.False(t, p.Lines.Scan(), p.Lines.Text())
	require.NoError(t, p.Wait())
}

// fleet is an API whose store is on a small file system.
type fleet struct {
	url     string
	created []string
}

// smallDisk is the role "small-disk": it fills the file system while a node is verified, and frees it again.
func smallDisk(dir string) error {
	const mib = 1 << 20
	if err := mountSmall(dir, 192*mib); err != nil { // etcd allocates twice 64 MB for its log
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, err := embedded.Open(ctx, embedded.Config{Dir: filepath.Join(dir, "fleet"), Reserve: 32 * mib}.MaintainEvery(50*time.Millisecond))
	if err != nil {
		return err
	}
	defer store.Close()
	begun, release, ended := make(chan bool, 9), make(chan bool), make(chan bool, 9)
	hardware := &conductor.Fake{Before: func(_ context.Context, _ *conductor.Node, operation string) error {
		if operation == "verify" {
			begun <- true
			<-release
			ended <- true
		}
		return nil
	}}
	c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": hardware},
		CheckInterval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	running := make(chan error, 1)
	go func() { running <- c.Run(ctx) }()
	defer func() { stop(); <-running }()
	if err := c.Ready(ctx); err != nil {
		return err
	}
	server := httptest.NewServer(api.New(c, api.Config{}))
	defer server.Close()
	f := &fleet{url: server.URL}

	if err := errors.Join(f.until(f.create, http.StatusCreated),
		f.expect("PUT", "/v1/nodes/n0/states/provision", `{"target": "manage"}`, http.StatusAccepted)); err != nil {
		return err
	}
	<-begun
	fmt.Println("a node's verification is in flight")

	free, err := embedded.FreeSpace(dir)
	if err != nil {
		return err
	}
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Fallocate(int(ballast.Fd()), 0, 0, free-20*mib),
		f.until(f.create, http.StatusServiceUnavailable)); err != nil {
		return err
	}
	fmt.Println("a write is refused with 503")
	if err := f.allThere(); err != nil {
		return err
	}
	fmt.Println("reads are answered")
	close(release)
	<-ended
	for range 20 { // the conductor tries again to store the result
		n, err := c.Node(ctx, "n0")
		if err != nil || n.ProvisionState.String() != "verifying" {
			return fmt.Errorf("the node is %v: %w", n, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("the verification has ended, and its result is not stored")

	if err := errors.Join(ballast.Close(), os.Remove(ballast.Name()), f.until(f.create, http.StatusCreated)); err != nil {
		return err
	}
	fmt.Println("a write is accepted")
	for state := ""; state != "manageable"; time.Sleep(10 * time.Millisecond) {
		n, err := c.Node(ctx, "n0")
		if err != nil {
			return err
		}
		if state = n.ProvisionState.String(); state == "enroll" {
			return errors.New("the verification has failed: " + n.LastError)
		}
	}
	fmt.Println("the result of the verification is stored: manageable")
	if err := f.allThere(); err != nil {
		return err
	}
	fmt.Println("every acknowledged node is there")
	return nil
}

// send sends a request and returns the status of its response.
func (f *fleet) send(method, path, body string) (int, error) {
	request, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func (f *fleet) expect(method, path, body string, want int) error {
	got, err := f.send(method, path, body)
	if err == nil && got != want {
		err = fmt.Errorf("%s %s: status %d, want %d", method, path, got, want)
	}
	return err
}

// create creates a node and returns the status.
func (f *fleet) create() (int, error) {
	name := fmt.Sprint("n", len(f.created))
	status, err := f.send("POST", "/v1/nodes", `{"driver": "fake-hardware", "name": "`+name+`"}`)
	if status == http.StatusCreated {
		f.created = append(f.created, name)
	}
	return status, err
}

// until repeats a request until it has the status. In between only 201 and 503 are allowed.
func (f *fleet) until(send func() (int, error), want int) error {
	for {
		switch got, err := send(); {
		case err != nil || got == want:
			return err
		case got != http.StatusCreated && got != http.StatusServiceUnavailable:
			return fmt.Errorf("status %d while waiting for %d", got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// allThere returns an error if a node whose creation was acknowledged is not there.
func (f *fleet) allThere() error {
	for _, name := range f.created {
		if err := f.expect("GET", "/v1/nodes/"+name, "", http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}
