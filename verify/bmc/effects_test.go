package bmc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// effect returns the first of bmctest's effects whose name begins so.
func effect(name string) bmctest.Effect {
	for _, e := range bmctest.Effects() {
		if strings.HasPrefix(e.String(), name) {
			return e
		}
	}
	panic("bmctest has no effect " + name)
}

// members gives a collection n members, of which each leads nowhere but the last, to
// where the first led.
func members(n int) bmctest.Effect {
	return bmctest.Change(fmt.Sprintf("members(%d)", n), func(_ http.Header, body []byte) []byte {
		var collection map[string]any
		if json.Unmarshal(body, &collection) != nil {
			return body
		}
		first, _ := collection["Members"].([]any)
		var all []any
		for i := range n - len(first) {
			all = append(all, map[string]string{"@odata.id": fmt.Sprint(collection["@odata.id"], "/none-", i)})
		}
		collection["Members"] = append(all, first...)
		changed, _ := json.Marshal(collection)
		return changed
	})
}

// longBody answers with a JSON object of some n bytes, compressed on request.
func longBody(n int, compressed bool) bmctest.Effect {
	var body bytes.Buffer
	var to io.Writer = &body
	packer := gzip.NewWriter(&body)
	if compressed {
		to = packer
	}
	fmt.Fprintf(to, `{"Name":%q}`, strings.Repeat("A", n))
	if compressed {
		_ = packer.Close()
	}
	return bmctest.Handle(fmt.Sprintf("longBody(%d, %v)", n, compressed), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if compressed {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(body.Bytes())
	})
}
