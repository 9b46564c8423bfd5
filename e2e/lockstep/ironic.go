// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/try"
)

// ErrNotInstalled is matched by the error of [Start] if a required program is missing.
var ErrNotInstalled = errors.New("not installed")

// Ironic is a running Ironic. Make it with [Start] and Close it. It is safe for
// concurrent use, except Restart and Close.
type Ironic struct {
	Client *Client
	Installation

	options  Options
	dir      string
	database *database
	process  *process
	sample   sample
}

// Start starts an Ironic and returns once its API answers; ctx bounds the start only.
// The Ironic uses a temporary folder and its own process group. It ends with this
// process, even if this process is killed.
func Start(ctx context.Context, options Options) (*Ironic, error) {
	installed, err := Find(ctx, options.Root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(place(options.Root), "lockstep-")
	if err != nil {
		return nil, fmt.Errorf("lockstep: make folder: %w", err)
	}
	i := &Ironic{Installation: installed, options: options, dir: dir}
	if err := try.Catch(func() { i.create(ctx) }); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// place returns where the folder of an Ironic is made: in memory, where a write to a database waits for no disk, unless
// TMPDIR names a place with more room. The Debian in a root folder sees /dev/shm and /tmp of this machine alone.
func place(root string) string {
	const memory = "/dev/shm"
	info, err := os.Stat(memory)
	switch {
	case err == nil && info.IsDir() && (root != "" || os.Getenv("TMPDIR") == ""):
		return memory
	case root != "":
		return "/tmp"
	default:
		return os.TempDir()
	}
}

// create creates the files and the database and starts the programs.
func (i *Ironic) create(ctx context.Context) {
	i.writeFiles()
	schema := i.command(ctx, "ironic-dbsync", "--config-file", i.path(configFile), "create_schema")
	if output, err := schema.CombinedOutput(); err != nil {
		try.Failf("lockstep: create the database: %w: %s", err, bytes.TrimSpace(output))
	}
	i.database = &database{startPython(i.Installation, databaseProgram, i.path(databaseFile), longestReservation)}
	var err error
	for range startAttempts {
		if err = i.start(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	try.OK(err)
}

// startAttempts is the number of ports that are tried: another process may take a free
// port before Ironic listens on it.
const startAttempts = 3

// start starts the server on a free port and waits until it answers.
func (i *Ironic) start(ctx context.Context) error {
	return try.Catch(func() {
		free := try.Get(freeport.Addresses(1))[0]
		i.writeConfig(strings.TrimPrefix(free, "127.0.0.1:"))
		process := startProcess(i.command(context.Background(), "sh",
			append([]string{"-c", keeper, "keeper", i.path(configFile)}, i.server()...)...))
		client := newClient("http://" + free)
		if err := process.answers(ctx, client); err != nil {
			process.kill()
			client.close()
			try.Failf("%w: %s", err, i.lastErrors())
		}
		i.Client, i.process = client, process
	})
}

// Restart kills the server, like a power cut, and starts another one on the same
// database. It replaces Client.
func (i *Ironic) Restart(ctx context.Context) error {
	i.stop()
	return i.start(ctx)
}

func (i *Ironic) stop() {
	if i.process != nil {
		i.process.kill()
		i.Client.close()
		i.process = nil
	}
}

// Close kills the server and all processes that it started, and removes its folder.
func (i *Ironic) Close() error {
	i.stop()
	var err error
	if i.database != nil {
		err = i.database.close()
		i.database = nil
	}
	return errors.Join(err, os.RemoveAll(i.dir))
}

// Endpoint is the address of the API, without a path or a slash at the end. A
// restart changes it.
func (i *Ironic) Endpoint() string { return i.Client.endpoint }

func (i *Ironic) path(name string) string { return filepath.Join(i.dir, name) }

// command returns the command of a program that runs in the Ironic's folder.
func (i *Ironic) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := i.Installation.command(ctx, name, args...)
	cmd.Dir = i.dir
	cmd.Env = append(os.Environ(),
		"HOME="+i.dir,
		"TMPDIR="+i.dir,
		"XDG_CACHE_HOME="+i.dir,
		"PYTHONPATH="+i.dir,
		"PYTHONDONTWRITEBYTECODE=1",
	)
	return cmd
}

// lastErrors returns the last errors in Ironic's log.
func (i *Ironic) lastErrors() string {
	const most = 20
	log, _ := os.ReadFile(i.path(logFile)) // it may have died before it logged
	var found []string
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, " ERROR ") {
			found = append(found, line)
		}
	}
	return strings.Join(found[max(0, len(found)-most):], "")
}

// keeper is a shell script that runs Ironic and ends with this process.
//
//go:embed keeper.sh
var keeper string

// process is a running keeper, with its server.
type process struct {
	cmd *exec.Cmd
	in  io.Closer
	end chan struct{} // closed when it has ended and been waited for
}

func startProcess(cmd *exec.Cmd) *process {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &process{cmd: cmd, in: try.Get(cmd.StdinPipe()), end: make(chan struct{})}
	try.OKf(cmd.Start(), "lockstep: start ironic")
	go func() {
		_ = cmd.Wait()
		close(p.end)
	}()
	return p
}

// kill kills the process group and waits for its end for a limited time: an orphaned
// process may stay in the process table.
func (p *process) kill() {
	group := -p.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.end
	for range 1000 {
		if syscall.Kill(group, 0) != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// answers waits until the API answers.
func (p *process) answers(ctx context.Context, client *Client) error {
	for {
		if try.Catch(func() { client.List(ctx, 1, "").want(http.StatusOK, "list nodes") }) == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lockstep: ironic does not answer: %w", context.Cause(ctx))
		case <-p.end:
			return errors.New("lockstep: ironic ended at once")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
