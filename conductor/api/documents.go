package api

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// root answers GET /.
func root(r *request) (answer, error) {
	w := newWriter(1024)
	w.open()
	w.key("name").text("OpenStack Ironic API")
	w.key("description").text("Ironic is an OpenStack project which enables the provision and management of baremetal machines.")
	w.key("default_version")
	versionDocument(w, r)
	w.key("versions").openList()
	versionDocument(w, r)
	w.closeList()
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

func versionDocument(w *writer, r *request) {
	w.open()
	w.key("id").text("v1")
	w.key("links").openList()
	w.link("self", r.base(), "/v1/")
	w.closeList()
	w.key("status").text("CURRENT")
	w.key("min_version").text("1.1")
	w.key("version").text(r.highest.String())
	w.close()
}

// v1 answers GET /v1.
func v1(r *request) (answer, error) {
	if r.Method != http.MethodGet {
		return answer{}, &fault{status: http.StatusMethodNotAllowed, text: "The server could not comply with the request since it is either malformed or otherwise incorrect."}
	}
	w := newWriter(4096)
	w.open()
	w.key("id").text("v1")
	w.key("links").openList()
	w.link("self", r.base(), "/v1/")
	w.open()
	w.key("href").text("https://docs.openstack.org//ironic/latest/contributor//webapi.html")
	w.key("rel").text("describedby")
	w.key("type").text("text/html")
	w.close()
	w.closeList()
	w.key("media_types").open()
	w.key("base").text("application/json")
	w.key("type").text("application/vnd.openstack.ironic.v1+json")
	w.close()
	for _, name := range []string{"chassis", "nodes", "ports", "drivers"} {
		w.key(name).links(r.base(), name+"/")
	}
	w.key("version")
	versionDocument(w, r)
	for _, c := range []struct {
		name  string
		since states.APIVersion
	}{
		{"portgroups", since.PortGroups}, {"volume", since.Volumes}, {"lookup", since.Lookup}, {"heartbeat", since.Lookup}, {"conductors", since.Conductors},
		{"allocations", since.Allocations}, {"events", since.Events}, {"deploy_templates", since.DeployTemplates}, {"shards", since.Shards}, {"runbooks", since.Runbooks},
	} {
		if r.version >= c.since {
			w.key(c.name).links(r.base(), c.name+"/")
		}
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}
