// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

const (
	root     = "/redfish/v1"
	user     = "admin"
	password = "vendors-password"
)

// object is a Redfish resource, or a part of one.
type object = map[string]any

// tree serves the recorded resources of one BMC by Redfish. It applies what clients write, so that they read it: power,
// boot override, virtual media, secure boot, and BIOS settings, which take effect when the machine starts. It refuses
// only what the resource itself excludes: a value that is not among its allowable ones, a wrong ETag, a second image in
// a slot.
type tree struct {
	name   string
	server *httptest.Server
	files  map[string]string // by path, in lower case

	mu      sync.Mutex
	changed map[string]object                   // by path, in lower case
	system  string                              // the path of the system that was reset
	onPower func(on bool, device, image string) // see watch
}

// serve serves the tree in a folder. A file PATH/index.json is the resource at PATH; a folder without redfish/v1 is
// the service root's.
func serve(folder string) (*tree, error) {
	t := &tree{name: filepath.Base(folder), files: map[string]string{}, changed: map[string]object{}}
	prefix := root
	if _, err := os.Stat(filepath.Join(folder, "redfish", "v1")); err == nil {
		prefix = ""
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "index.json" {
			return err
		}
		at, err := filepath.Rel(folder, filepath.Dir(path))
		if err != nil {
			return err
		}
		t.files[key(prefix+"/"+filepath.ToSlash(at))] = path
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t.files[root] == "" {
		return nil, fmt.Errorf("%s has no %s/index.json", folder, root)
	}
	t.server = httptest.NewUnstartedServer(http.HandlerFunc(t.answer))
	t.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.server.StartTLS()
	return t, nil
}

// key returns a path without a slash at its end and in lower case: some BMCs spell their links in several ways.
func key(path string) string {
	return strings.ToLower(strings.TrimRight(strings.TrimSuffix(path, "/."), "/"))
}

// config returns how to reach the BMC.
func (t *tree) config() bmc.Config {
	host, port, _ := net.SplitHostPort(t.server.Listener.Addr().String())
	number, _ := strconv.Atoi(port)
	authorities := x509.NewCertPool()
	authorities.AddCert(t.server.Certificate())
	return bmc.Config{Host: host, RedfishPort: number, RootCAs: authorities, User: user, Password: secret.New(password), Protocol: "redfish"}
}

// get returns a resource, nil if there is none. The caller holds t.mu.
func (t *tree) get(path string) object {
	if o, ok := t.changed[key(path)]; ok {
		return o
	}
	text, err := os.ReadFile(t.files[key(path)])
	if err != nil {
		return nil
	}
	var o object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&o) != nil {
		return nil
	}
	return o
}

func (t *tree) answer(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	path := r.URL.EscapedPath()
	sessions := root + "/SessionService/Sessions"
	var body object
	err := json.NewDecoder(r.Body).Decode(&body)
	switch asked := r.Method + " " + key(path); {
	case r.Method != http.MethodGet && err != nil && !errors.Is(err, io.EOF):
		refuse(w, http.StatusBadRequest, "MalformedJSON")
	case asked == "POST "+key(sessions):
		if body["UserName"] != user || body["Password"] != password {
			refuse(w, http.StatusUnauthorized, "NoValidSession")
			return
		}
		w.Header().Set("X-Auth-Token", "token")
		w.Header().Set("Location", sessions+"/of-the-test")
		w.WriteHeader(http.StatusCreated)
	case key(path) != root && !authorized(r):
		refuse(w, http.StatusUnauthorized, "NoValidSession")
	case asked == "DELETE "+key(sessions+"/of-the-test"):
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		t.act(w, path, body)
	case t.get(path) == nil:
		refuse(w, http.StatusNotFound, "ResourceMissingAtURI")
	case r.Method == http.MethodGet:
		o := t.get(path)
		if tag, ok := o["@odata.etag"].(string); ok {
			w.Header().Set("ETag", tag)
		}
		w.Header().Set("Allow", "GET, PATCH")
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o)
	case r.Method == http.MethodPatch:
		t.patch(w, path, body, r.Header.Get("If-Match"))
	default:
		refuse(w, http.StatusMethodNotAllowed, "OperationNotAllowed")
	}
}

// authorized reports whether a request has the token of the session, or the user and the password: not all BMCs have
// sessions.
func authorized(r *http.Request) bool {
	name, word, _ := r.BasicAuth()
	return r.Header.Get("X-Auth-Token") == "token" || name == user && word == password
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": "Base.1.0." + message, "message": message}})
}

func (t *tree) patch(w http.ResponseWriter, path string, body object, match string) {
	o := t.get(path)
	if tag, ok := o["@odata.etag"].(string); ok && match != "" && match != tag && match != "*" {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	if !merge(o, body) {
		refuse(w, http.StatusBadRequest, "PropertyValueNotInList")
		return
	}
	t.changed[key(path)] = o
	w.WriteHeader(http.StatusNoContent)
}

// merge changes an object unless a value is not among its allowable ones.
func merge(into, changes object) bool {
	for name, value := range changes {
		if part, ok := value.(object); ok {
			if _, ok := into[name].(object); !ok {
				into[name] = object{}
			}
			if !merge(into[name].(object), part) {
				return false
			}
			continue
		}
		if allowed, ok := into[name+"@Redfish.AllowableValues"].([]any); ok && !slices.Contains(allowed, value) {
			return false
		}
		into[name] = value
	}
	return true
}

// act carries an action out.
func (t *tree) act(w http.ResponseWriter, path string, body object) {
	owner, action, _ := strings.Cut(path, "/Actions/")
	o := t.get(owner)
	if o == nil {
		refuse(w, http.StatusNotFound, "ResourceMissingAtURI")
		return
	}
	switch strings.TrimSuffix(action, "/") {
	case "ComputerSystem.Reset":
		kind, _ := body["ResetType"].(string)
		if allowed := t.resets(o); len(allowed) > 0 && !slices.Contains(allowed, any(kind)) {
			refuse(w, http.StatusBadRequest, "ActionParameterValueNotInList")
			return
		}
		t.system = owner
		t.reset(o, kind)
	case "VirtualMedia.InsertMedia":
		if o["Inserted"] == true {
			refuse(w, http.StatusConflict, "ResourceInUse")
			return
		}
		o["Inserted"], o["Image"], o["ConnectedVia"] = true, body["Image"], "URI"
	case "VirtualMedia.EjectMedia":
		o["Inserted"], o["Image"], o["ConnectedVia"] = false, nil, "NotConnected"
	case "Bios.ResetBios":
	default:
		refuse(w, http.StatusNotFound, "ActionNotSupported")
		return
	}
	t.changed[key(owner)] = o
	w.WriteHeader(http.StatusNoContent)
}

// resets returns the allowable values of ResetType, from the action or its ActionInfo.
func (t *tree) resets(system object) []any {
	action := at(system, "Actions", "#ComputerSystem.Reset")
	if allowed, ok := action["ResetType@Redfish.AllowableValues"].([]any); ok {
		return allowed
	}
	info, _ := action["@Redfish.ActionInfo"].(string)
	parameters, _ := t.get(info)["Parameters"].([]any)
	for _, p := range parameters {
		if p, _ := p.(object); p["Name"] == "ResetType" {
			allowed, _ := p["AllowableValues"].([]any)
			return allowed
		}
	}
	return nil
}

// reset switches the machine. When it starts, its BIOS settings take effect, and a boot override for once ends.
func (t *tree) reset(system object, kind string) {
	if kind == "Nmi" {
		return
	}
	on := kind != "ForceOff" && kind != "GracefulShutdown"
	system["PowerState"] = map[bool]string{true: "On", false: "Off"}[on]
	if !on {
		t.tell(false, "", "")
		return
	}
	if path, _ := at(system, "Bios")["@odata.id"].(string); path != "" {
		bios := t.get(path)
		pending, _ := at(bios, "@Redfish.Settings", "SettingsObject")["@odata.id"].(string)
		if attributes := at(bios, "Attributes"); attributes != nil {
			maps.Copy(attributes, at(t.get(pending), "Attributes"))
			t.changed[key(path)] = bios
		}
	}
	if path, _ := at(system, "@Redfish.Settings", "SettingsObject")["@odata.id"].(string); path != "" {
		_ = merge(system, object{"Boot": at(t.get(path), "Boot")})
	}
	boot := at(system, "Boot")
	device, _ := boot["BootSourceOverrideTarget"].(string)
	switch boot["BootSourceOverrideEnabled"] {
	case "Once":
		boot["BootSourceOverrideEnabled"], boot["BootSourceOverrideTarget"] = "Disabled", "None"
	case "Disabled":
		device = "None"
	}
	t.tell(true, device, t.image())
}

// image returns the image that is inserted. The caller holds t.mu.
func (t *tree) image() string {
	for _, slot := range t.changed {
		if slot["Inserted"] == true {
			image, _ := slot["Image"].(string)
			return image
		}
	}
	return ""
}

// inserted returns the image that a client has inserted, "" if there is none.
func (t *tree) inserted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.image()
}

// powerOff switches the machine off, as it does itself.
func (t *tree) powerOff() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if system := t.get(t.system); system != nil {
		t.reset(system, "ForceOff")
		t.changed[key(t.system)] = system
	}
}

// watch sets the function that is called with the boot device and its image when the machine starts, and when it is
// off. The function must not call the tree.
func (t *tree) watch(f func(on bool, device, image string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onPower = f
}

func (t *tree) tell(on bool, device, image string) {
	if t.onPower != nil {
		t.onPower(on, device, image)
	}
}

// at returns an object within another one, nil if there is none.
func at(o object, names ...string) object {
	for _, name := range names {
		o, _ = o[name].(object)
	}
	return o
}
