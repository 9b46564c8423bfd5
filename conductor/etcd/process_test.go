package etcd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
)

// roleVariable is the environment variable that makes the test binary run one of roles instead of
// the tests. Tests start it as a child process.
const roleVariable = "IRONSTATE_TEST_ROLE"

var roles = map[string]func(arg string) error{
	"conductor": conductForever,
	"server":    serve,
	"writer":    write,
	"opener":    openOnce,
	"member":    beMember,
	"dier":      dieAtLog,
}

func TestMain(m *testing.M) {
	role, arg, _ := strings.Cut(os.Getenv(roleVariable), " ")
	if role == "" {
		// The parallel tests mostly wait for elections and leases; -parallel overrides the number.
		// Tests that spawn a process are not parallel: until the child has executed its program, it
		// holds the file locks that this process releases meanwhile.
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
		// The servers of a cluster leave idle connections to each other when they stop. These
		// end with the process, but the tests run several servers in one process.
		goleak.VerifyTestMain(m,
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"))
		return
	}
	if err := roles[role](arg); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// process is a child process that ends at the latest with the test.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner // its standard output
}

func spawn(t *testing.T, role string, arg any) *process {
	t.Helper()
	return spawnWith(t, os.Stderr, role, arg)
}

func spawnWith(t *testing.T, stderr *os.File, role string, arg any) *process {
	t.Helper()
	text, ok := arg.(string)
	if !ok {
		encoded, err := json.Marshal(arg)
		require.NoError(t, err)
		text = string(encoded)
	}
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), roleVariable+"="+role+" "+text)
	p.Stderr = stderr
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.lines = bufio.NewScanner(out)
	// The child ends when its standard input is closed, at the latest when this process ends.
	_, err = p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// line returns the next line that the process prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	require.True(t, p.lines.Scan(), "the process has ended")
	return p.lines.Text()
}

func untilParentEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }

// serverConfig is the argument of the role "server".
type serverConfig struct {
	Name, Dir, Cluster string
	Peer, Client       string // URLs
	CA, Cert, Key      string // files, for clients with TLS
}

// serve is the role "server": an etcd server of a cluster.
func serve(arg string) error {
	var c serverConfig
	if err := json.Unmarshal([]byte(arg), &c); err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Name, config.Dir, config.InitialCluster = c.Name, c.Dir, c.Cluster
	config.ListenPeerUrls, config.AdvertisePeerUrls = urls(c.Peer), urls(c.Peer)
	config.ListenClientUrls, config.AdvertiseClientUrls = urls(c.Client), urls(c.Client)
	config.TickMs, config.ElectionMs = 50, 500
	config.BcryptCost = 4
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	config.ClientTLSInfo.TrustedCAFile, config.ClientTLSInfo.CertFile, config.ClientTLSInfo.KeyFile = c.CA, c.Cert, c.Key
	config.ClientTLSInfo.ClientCertAuth = c.CA != ""
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	<-server.Server.ReadyNotify()
	fmt.Println("ready")
	untilParentEnds()
	return nil
}

// openOnce is the role "opener": it opens the store in the folder.
func openOnce(dir string) error {
	s, err := etcd.Open(context.Background(), etcd.Config{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	return s.Close()
}

// dying is a log handler that exits the process at the nth message.
type dying struct {
	slog.Handler
	left atomic.Int64
}

func (d *dying) Enabled(context.Context, slog.Level) bool { return true }

func (d *dying) Handle(context.Context, slog.Record) error {
	if d.left.Add(-1) == 0 {
		os.Exit(9)
	}
	return nil
}

// dieAtLog is the role "dier": it opens the store in a folder and exits at etcd's nth log message.
func dieAtLog(arg string) error {
	dir, number, _ := strings.Cut(arg, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	log := &dying{Handler: slog.DiscardHandler}
	log.left.Store(n)
	s, err := etcd.Open(context.Background(), etcd.Config{Dir: dir, Log: slog.New(log)})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	return s.Close()
}

// write is the role "writer": it creates and updates records in the folder forever, and prints each
// acknowledged write.
func write(dir string) error {
	ctx := context.Background()
	s, err := etcd.Open(ctx, etcd.Config{Dir: dir})
	if err != nil {
		return err
	}
	go func() {
		untilParentEnds()
		os.Exit(0)
	}()
	var print sync.Mutex
	failed := make(chan error)
	for writer := range 8 {
		go func() {
			for n := 0; ; n++ {
				r := conductor.Record{Kind: kind, ID: fmt.Sprintf("%d-%d-%d", os.Getpid(), writer, n)}
				r.Keys = []string{"name=" + r.ID}
				for update := range 3 {
					r.Value = strconv.AppendInt(nil, int64(update), 10)
					var err error
					if update == 0 {
						r.Revision, err = s.Create(ctx, r)
					} else {
						r.Revision, err = s.Update(ctx, r)
					}
					if err != nil {
						failed <- err
						return
					}
					print.Lock()
					fmt.Println(r.ID, update, r.Revision)
					print.Unlock()
				}
			}
		}()
	}
	return <-failed
}
