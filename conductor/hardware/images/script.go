// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

// bootScript is the name of the script that all machines load first. It looks for the script of each network interface.
const bootScript = "boot.ipxe"

// scriptPattern matches the names under which iPXE asks for the script of a MAC address.
var scriptPattern = regexp.MustCompile(`^[0-9a-f]{2}(-[0-9a-f]{2}){5}\.ipxe$`)

// PublishScripts publishes the iPXE scripts of a node by the MAC addresses of its network interfaces. A machine that
// loads boot.ipxe below Config.URL receives the script of the first of its interfaces that has one. They replace all
// scripts of the node and, for these interfaces, the scripts of other nodes. [Server.Withdraw] removes them. A script
// is no secret, and neither are the kernel and the ramdisk that it names: everyone with an address of Config.Machines
// who knows a MAC address can read them.
func (s *Server) PublishScripts(node string, scripts map[string]string) error {
	if !nodePattern.MatchString(node) {
		return fmt.Errorf("publish the scripts of %q: want a UUID", node)
	}
	names := make(map[string]string, len(scripts)) // to the scripts
	for mac, script := range scripts {
		address, err := net.ParseMAC(mac)
		if err != nil || len(address) != 6 {
			return fmt.Errorf("publish the scripts of node %s: %q is not a MAC address such as 52:54:00:12:34:56", node, mac)
		}
		names[strings.ReplaceAll(address.String(), ":", "-")+".ipxe"] = script
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.imagesOf(node, ".ipxe")
	if err = errors.Join(err, s.remove(old)); err != nil {
		return fmt.Errorf("publish the scripts of node %s: %w", node, err)
	}
	for name, script := range names {
		earlier, err := s.scripts(name)
		for _, e := range earlier {
			err = errors.Join(err, s.published.Remove(e))
		}
		if err == nil {
			err = s.writeScript(node+"-"+name, script)
		}
		if err != nil {
			return fmt.Errorf("publish the scripts of node %s: %w", node, err)
		}
	}
	return nil
}

// writeScript writes a file among the published ones.
func (s *Server) writeScript(name, script string) error {
	file, err := os.CreateTemp(s.Temporary(), "script-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(script)
	if err := cmp.Or(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return s.moveToPublished(file, name)
}

// scripts returns the names of the files that are published under the name of a script: one at most, unless a write
// failed.
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
