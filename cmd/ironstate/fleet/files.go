// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

// entry is a machine in the file for programs.
type entry struct {
	Name     string `json:"name"`
	Profile  string `json:"profile"`
	Address  string `json:"address"`   // URL of the BMC, without a path
	SystemID string `json:"system_id"` // path of the system at the BMC
	User     string `json:"username"`
	Password string `json:"password"`
	CA       string `json:"ca"` // path of the authority's certificate
	MAC      string `json:"mac"`
	Disk     string `json:"disk"` // path
}

func (f *fleet) entries() (all []entry) {
	for _, m := range f.machines {
		all = append(all, entry{
			Name: m.name, Profile: m.family, Address: "https://" + m.bmc.Addr, SystemID: m.system, User: f.user, Password: f.password.Reveal(),
			CA: f.folder.file(caFile), MAC: m.mac, Disk: m.host.Disk,
		})
	}
	return all
}

// writeFiles writes the files with the machines.
func (f *fleet) writeFiles() error {
	all := f.entries()
	for name, content := range map[string]func([]entry) ([]byte, error){
		machinesFile: func(all []entry) ([]byte, error) { return indented(all) },
		nodesFile:    f.nodes,
		hostsFile:    hosts,
	} {
		text, err := content(all)
		if err == nil {
			err = f.folder.write(name, text)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func indented(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return append(text, '\n'), err
}

// nodes returns the file for "baremetal create".
//
// Source: ironicclient/v1/create_resources.py.
func (f *fleet) nodes(all []entry) ([]byte, error) {
	var nodes []map[string]any
	for _, e := range all {
		verify := any(e.CA)
		switch f.verifyCA {
		case "":
		case "false":
			verify = false
		default:
			verify = f.verifyCA
		}
		info := map[string]any{
			"redfish_address": e.Address, "redfish_system_id": e.SystemID, "redfish_username": e.User, "redfish_password": e.Password,
			"redfish_verify_ca": verify,
		}
		if f.iso != nil {
			info["deploy_iso"] = f.url + isoPath
		}
		nodes = append(nodes, map[string]any{
			"name": e.Name, "driver": "redfish", "boot_interface": "redfish-virtual-media", "resource_class": "baremetal",
			"driver_info": info, "properties": map[string]any{"cpu_arch": "x86_64"}, "extra": map[string]any{"profile": e.Profile},
			"ports": []map[string]any{{"address": e.MAC}},
		})
	}
	return indented(map[string]any{"nodes": nodes})
}

//go:embed hosts.yaml.tmpl
var hostsText string

// hostsYAML is a Secret and a BareMetalHost for each machine. The texts are written as JSON strings, which YAML reads.
// The operator of the cluster gives metal3 no authority for BMCs, and so the certificates are not verified.
//
// Source: apis/metal3.io/v1alpha1/baremetalhost_types.go in github.com/metal3-io/baremetal-operator.
var hostsYAML = template.Must(template.New("hosts").Funcs(template.FuncMap{"json": func(text string) (string, error) {
	encoded, err := json.Marshal(text)
	return string(encoded), err
}}).Parse(hostsText))

func hosts(all []entry) ([]byte, error) {
	var text bytes.Buffer
	err := hostsYAML.Execute(&text, all)
	return text.Bytes(), err
}

// agentISO returns an image for virtual media that names an API in its kernel parameters. It has no kernel: the
// machines of the fleet start their agent without one. The image is built in a folder.
func agentISO(api, folder string) (image []byte, err error) {
	work, err := os.MkdirTemp(folder, "agent-iso-")
	if err != nil {
		return nil, fmt.Errorf("build the agent's image: %w", err)
	}
	defer os.RemoveAll(work)
	none := filepath.Join(work, "none")
	if err := os.WriteFile(none, []byte("This file is no kernel: the machines of ironstate fleet need none.\n"), 0o600); err != nil {
		return nil, err
	}
	iso, err := os.Create(filepath.Join(work, "agent.iso"))
	if err != nil {
		return nil, err
	}
	defer iso.Close()
	content := bootimage.Image{Kernel: none, Ramdisk: none, ESP: none, Parameters: []string{"ipa-api-url=" + api}}
	if err := content.Write(iso, work); err != nil {
		return nil, err
	}
	return os.ReadFile(iso.Name())
}
