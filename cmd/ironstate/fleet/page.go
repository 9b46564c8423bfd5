// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// isoPath is the path of the image with an agent.
const isoPath = "/agent.iso"

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// row is a machine on the page.
type row struct {
	Name, Profile, BMC, MAC, State       string
	PowerOns, PowerOffs, Resets          int64
	AgentBoots, DiskBoots, Media, Faults int64
	Written                              int64 // MiB
	Command                              string
	Inserted                             bool // an image is
}

func (m *machine) row() row {
	r := row{
		Name: m.name, Profile: m.family, BMC: m.bmc.Addr, MAC: m.mac, State: m.state(), Inserted: m.bmc.Media("") != "",
		PowerOns: m.powerOns.Load(), PowerOffs: m.powerOffs.Load(), Resets: m.resets.Load(),
		AgentBoots: m.agentBoots.Load(), DiskBoots: m.diskBoots.Load(), Media: m.media.Load(), Faults: m.faults(),
		Written: m.host.Written() >> 20,
	}
	if last := m.host.Commands(); len(last) > 0 {
		r.Command = last[0].Name
		if step, ok := last[0].Params["step"].(map[string]any); ok {
			r.Command, _ = step["step"].(string)
		}
	}
	return r
}

// handler serves the page, the metrics and the image with an agent. None of them has a password.
func (f *fleet) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{f})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", f.page)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	if f.iso != nil {
		mux.HandleFunc("GET "+isoPath, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, isoPath, time.Time{}, bytes.NewReader(f.iso))
		})
	}
	return mux
}

// page answers with all machines in one document.
func (f *fleet) page(w http.ResponseWriter, _ *http.Request) {
	count := map[string]int{}
	var rows []row
	for _, m := range f.machines {
		r := m.row()
		rows = append(rows, r)
		count[r.State]++
	}
	var text bytes.Buffer
	err := pageTemplate.Execute(&text, map[string]any{
		"Fleet": f.name, "States": allStates, "Count": count, "Rows": rows, "Rates": f.rates, "Seed": f.seed,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write(text.Bytes())
}
