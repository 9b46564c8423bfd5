// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// bootScript is the name of the script that all machines load first. It looks for the script of each network interface.
const bootScript = "boot.ipxe"

// scriptPattern matches the names under which iPXE asks for the script of a MAC address.
var scriptPattern = regexp.MustCompile(`^[0-9a-f]{2}(-[0-9a-f]{2}){5}\.ipxe$`)

// PublishScript publishes an iPXE script for the network interfaces of a node. A machine that loads boot.ipxe below
// Config.URL receives the script that is published for the first of its interfaces that has one. It replaces the
// scripts of the node and, for these interfaces, of other nodes. [Server.Withdraw] removes it. A script is
// no secret: everyone who knows a MAC address can read it.
func (s *Server) PublishScript(node string, macs []string, script string) error {
	if !nodePattern.MatchString(node) {
		return fmt.Errorf("publish the script of %q: want a UUID", node)
	}
	if len(macs) == 0 {
		return fmt.Errorf("publish the script of node %s: there is no MAC address", node)
	}
	names := make([]string, len(macs))
	for i, mac := range macs {
		address, err := net.ParseMAC(mac)
		if err != nil || len(address) != 6 {
			return fmt.Errorf("publish the script of node %s: %q is not a MAC address such as 52:54:00:12:34:56", node, mac)
		}
		names[i] = strings.ReplaceAll(address.String(), ":", "-") + ".ipxe"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.withdraw(node, ".ipxe"); err != nil {
		return err
	}
	for _, name := range names {
		earlier, err := s.scripts(name)
		for _, e := range earlier {
			err = errors.Join(err, s.published.Remove(e))
		}
		if err == nil {
			err = s.writeScript(node+"-"+name, script)
		}
		if err != nil {
			return fmt.Errorf("publish the script of node %s: %w", node, err)
		}
	}
	return nil
}

// writeScript writes a file among the published ones. Readers see all of it or nothing.
func (s *Server) writeScript(name, script string) error {
	file, err := os.CreateTemp(s.Temporary(), "script-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(script)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(s.published.Name(), name))
}

// scripts returns the names of the files that are published under the name of a script: one at most, unless a write failed.
func (s *Server) scripts(name string) ([]string, error) {
	return fs.Glob(s.published.FS(), "????????-????-????-????-????????????-"+name)
}

// serveScript answers with boot.ipxe or the script of a MAC address.
func (s *Server) serveScript(w http.ResponseWriter, r *http.Request, name string) {
	script := []byte(s.bootScript())
	if name != bootScript {
		found, err := s.scripts(name)
		if err != nil || len(found) == 0 {
			http.NotFound(w, r)
			return
		}
		if script, err = fs.ReadFile(s.published.FS(), found[0]); err != nil {
			http.NotFound(w, r)
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(script))
}

// bootScript returns boot.ipxe. It ends with an error if no interface has a script, so that a script that
// chains it can try another server.
//
// Source: ironic/drivers/modules/boot.ipxe.
func (s *Server) bootScript() string {
	return `#!ipxe

set index:int32 0
:interface
isset ${net${index}/mac} || goto none
chain ` + s.config.URL + `/${net${index}/mac:hexhyp}.ipxe ||
inc index
goto interface

:none
echo No network interface of this machine has a script
exit 1
`
}
