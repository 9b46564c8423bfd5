// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
)

func TestIPXEExecutesScripts(t *testing.T) {
	const load = "kernel URL/k initrd=r a=1 b=${mac}\ninitrd --name r URL/r\n"
	for name, c := range map[string]struct {
		script, want, failure string
	}{
		"a boot":               {load + "boot\n", "a=1 b=52:54:00:00:00:01", ""},
		"a chain":              {"chain URL/other\n", "other", ""},
		"a chain that fails":   {"chain URL/absent || goto next\nexit\n:next\n" + load + "boot", "a=1 b=52:54:00:00:00:01", ""},
		"the second interface": {"set i:int32 0\ninc i\nchain URL/${net${i}/mac:hexhyp}", "second", ""},
		"a loop": {"set i:int32 1\n:again\niseq ${i} 3 && goto end ||\ninc i\ngoto again\n:end\n" + load + "boot",
			"a=1 b=52:54:00:00:00:01", ""},
		"an interface that lacks":  {"isset ${net7/mac} || poweroff\n", "", "powered the machine off"},
		"an error that is ignored": {"chain URL/absent ||\npoweroff\n", "", "powered the machine off"},
		"an error":                 {"chain URL/absent\npoweroff\n", "", "URL/absent: status 404"},
		"no boot":                  {load, "", "iPXE has booted nothing"},
		"an exit":                  {"exit 1\n" + load + "boot", "", "status 1"},
		"another ramdisk":          {"kernel URL/k initrd=other\ninitrd --name r URL/r\nboot\n", "", `ramdisk "r", initrd=other`},
		"a freed kernel":           {load + "imgfree\nboot\n", "", "kernel false"},
		"an absent ramdisk":        {"kernel URL/k initrd=r\ninitrd --name r URL/absent ||\nboot\n", "", `ramdisk "", initrd=r`},
		"an absent kernel":         {"kernel URL/absent initrd=r || goto failed\nboot\n:failed\nexit 2\n", "", "status 2"},
		"an absent label":          {"goto nowhere\n", "", "no label nowhere"},
		"an endless loop":          {":again\ngoto again\n", "", "more than 1000 commands"},
		"a kernel without a URL":   {"kernel\n", "", "iPXE has booted nothing"},
		"another command":          {"shell\n", "", "the command shell is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			var web *httptest.Server
			web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				content := map[string]string{
					"/boot.ipxe": "#!ipxe\n" + c.script, "/k": "kernel", "/r": "ramdisk",
					"/other":             "#!ipxe\nkernel URL/k initrd=r other\ninitrd --name r URL/r\nboot\n",
					"/52-54-00-00-00-02": "#!ipxe\nkernel URL/k initrd=r second\ninitrd --name r URL/r\nboot\n",
				}[r.URL.Path]
				if content == "" {
					http.NotFound(w, r)
					return
				}
				_, _ = io.WriteString(w, strings.ReplaceAll(content, "URL", web.URL))
			}))
			defer web.Close()
			client := web.Client()
			defer client.CloseIdleConnections()
			parameters, err := agenttest.BootIPXE(t.Context(), client, web.URL+"/boot.ipxe", []string{"52:54:00:00:00:01", "52:54:00:00:00:02"})
			require.Equal(t, c.want, parameters)
			if c.failure == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, strings.ReplaceAll(c.failure, "URL", web.URL))
			}
		})
	}
}
