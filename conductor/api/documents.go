// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// root answers GET /.
func root(r *rest.Request) (rest.Answer, error) {
	return rest.Object(func(w *wire.Writer) {
		w.Key("name").Text("OpenStack Ironic API")
		w.Key("description").Text("Ironic is an OpenStack project which enables the provision and management of baremetal machines.")
		w.Key("default_version")
		versionDocument(w, r)
		w.Key("versions").OpenList()
		versionDocument(w, r)
		w.CloseList()
	}), nil
}

// versionDocument writes the document of the only version, v1.
func versionDocument(w *wire.Writer, r *rest.Request) {
	w.Open()
	w.Key("id").Text("v1")
	w.Key("links").OpenList()
	w.Link("self", r.Base(), "/v1/")
	w.CloseList()
	w.Key("status").Text("CURRENT")
	w.Key("min_version").Text("1.1")
	w.Key("version").Text(r.Highest.String())
	w.Close()
}

// v1 answers GET /v1, and since 2024.2 HEAD.
func v1(r *rest.Request) (rest.Answer, error) {
	if r.Method != http.MethodGet && !(r.Method == http.MethodHead && r.Series >= states.Dalmatian) {
		return rest.Answer{}, &fault.Fault{Status: http.StatusMethodNotAllowed,
			Text: "The server could not comply with the request since it is either malformed or otherwise incorrect."}
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("id").Text("v1")
		w.Key("links").OpenList()
		w.Link("self", r.Base(), "/v1/")
		w.Open()
		w.Key("href").Text("https://docs.openstack.org//ironic/latest/contributor//webapi.html")
		w.Key("rel").Text("describedby")
		w.Key("type").Text("text/html")
		w.Close()
		w.CloseList()
		w.Key("media_types").Open()
		w.Key("base").Text("application/json")
		w.Key("type").Text("application/vnd.openstack.ironic.v1+json")
		w.Close()
		for _, name := range []string{"chassis", "nodes", "ports", "drivers"} {
			w.Key(name).Links(r.Base(), name+"/")
		}
		w.Key("version")
		versionDocument(w, r)
		for _, c := range []struct {
			name  string
			since states.APIVersion
		}{
			{"portgroups", since.PortGroups},
			{"volume", since.Volumes},
			{"lookup", since.Lookup},
			{"heartbeat", since.Lookup},
			{"conductors", since.Conductors},
			{"allocations", since.Allocations},
			{"events", since.Events},
			{"deploy_templates", since.DeployTemplates},
			{"shards", since.Shards},
			{"runbooks", since.Runbooks},
			{"continue_inspection", since.ContinueInspection},
			{"inspection_rules", since.InspectionRules},
		} {
			if r.Version >= c.since {
				w.Key(c.name).Links(r.Base(), c.name+"/")
			}
		}
	}), nil
}
