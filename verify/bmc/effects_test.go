// SPDX-License-Identifier: Apache-2.0

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

// effect returns the first of bmctest's effects whose name has a prefix.
func effect(name string) bmctest.Effect {
	for _, e := range bmctest.Effects() {
		if strings.HasPrefix(e.String(), name) {
			return e
		}
	}
	panic("bmctest has no effect " + name)
}

// members gives a collection n members. The last one links to the original first
// member, all others to resources that do not exist.
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

// longBody answers with a JSON object of about n bytes, optionally compressed.
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

// jsonBody answers 200 with a text whose content type is JSON.
func jsonBody(text string) bmctest.Effect {
	return bmctest.Handle(fmt.Sprintf("jsonBody(%.40q)", text), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	})
}

// raw sends a text as the whole response and closes the connection.
func raw(response string) bmctest.Effect {
	return bmctest.Handle(fmt.Sprintf("raw(%d bytes)", len(response)), func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, response)
			_ = c.Close()
		}
	})
}

// setHeader sets a header of the proper answer.
func setHeader(name, value string) bmctest.Effect {
	return bmctest.Change(fmt.Sprintf("setHeader(%q, %q)", name, value), func(h http.Header, body []byte) []byte {
		h.Set(name, value)
		return body
	})
}
