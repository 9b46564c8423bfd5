// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// secretive is a password that every encoding changes.
const secretive = `p+ss/w"rd<&>'\%é 1`

// tellers has a fault for each part of an answer in which a BMC can repeat a text.
var tellers = map[string]func(text string) bmctest.Fault{
	"the status line": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 500 " + text + "\r\nContent-Length: 0\r\n\r\n")}
	},
	"a malformed status line": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw(text + "\r\n\r\n")}
	},
	"a malformed status": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 " + text + "\r\n\r\n")}
	},
	"a malformed header": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 200 OK\r\n" + text + "\r\n\r\n")}
	},
	"a folded header": func(text string) bmctest.Fault {
		folded := strings.Join(strings.Split(text, ""), "\r\n ")
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 200 OK\r\nContent-Type: text/" + folded + "\r\nContent-Length: 2\r\n\r\n{}")}
	},
	"a content type": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 200 OK\r\nContent-Type: " + text + "\r\nContent-Length: 2\r\n\r\n{}")}
	},
	"a length": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 200 OK\r\nContent-Length: " + text + "\r\n\r\n{}")}
	},
	"bytes that nobody asked for": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" + text)}
	},
	"an informational answer": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Raw(strings.Repeat("HTTP/1.1 199 "+text+"\r\n\r\n", 9))}
	},
	"a redirect": func(text string) bmctest.Fault {
		return bmctest.Fault{Do: bmctest.Redirect(http.StatusTemporaryRedirect, "https://"+text+"/"+text)}
	},
	"a redirect that fails": func(text string) bmctest.Fault {
		return bmctest.Fault{On: systemPath, Do: bmctest.Redirect(http.StatusTemporaryRedirect, "/redfish/v1/Systems/"+text)}
	},
	"an error message": func(text string) bmctest.Fault {
		message, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text}})
		answer := fmt.Sprintf("HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n%s", len(message), message)
		return bmctest.Fault{On: systemPath, Do: bmctest.Raw(answer)}
	},
	"a link": func(text string) bmctest.Fault {
		return bmctest.Fault{On: systemsPath, Do: bmctest.Property("Members", []any{map[string]any{"@odata.id": "/redfish/v1/" + text}})}
	},
	"a power state": func(text string) bmctest.Fault {
		return bmctest.Fault{On: systemPath, Do: bmctest.Property("PowerState", text)}
	},
	"a number": func(text string) bmctest.Fault {
		return bmctest.Fault{On: systemPath, Do: bmctest.Body(`{"PowerState": ` + text + `}`)}
	},
}

// spellings are the encodings in which a BMC can write a text.
var spellings = map[string]func(string) string{
	"plain":     func(s string) string { return s },
	"URL query": url.QueryEscape,
	"URL path":  url.PathEscape,
	"HTML":      html.EscapeString,
	"Go":        func(s string) string { return strings.Trim(fmt.Sprintf("%q", s), `"`) },
	"JSON":      func(s string) string { b, _ := json.Marshal(s); return strings.Trim(string(b), `"`) },
	"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"unpadded":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"Basic":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(user + ":" + s)) },
}

// SECURITY.md: Passwords and session tokens are removed from every text of a BMC before it reaches an error, a log or
// `last_error`.
func TestNoErrorHasThePassword(t *testing.T) {
	users := func(c *bmctest.RedfishConfig) { c.Users = map[string]secret.Text{user: secret.New(secretive)} }
	server := startRedfish(t, users, func(c *bmctest.RedfishConfig) { c.MaxSessions = 1000 })
	config := configOf(server)
	config.Password = secret.New(secretive)
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	for where, fault := range tellers {
		for how, spell := range spellings {
			t.Run(where+", "+how, func(t *testing.T) {
				told := spell(secretive)
				require.NoError(t, server.ClearFaults())
				server.AddFault(fault(told))
				_, err := newVerifier(t, config).Verify(t.Context())
				require.Error(t, err)
				requireNone(t, err.Error(), told)
				for err := range chain(err) {
					requireNone(t, err.Error(), told)
					requireNone(t, fmt.Sprintf("%+v %#v", err, err), told)
				}
			})
		}
	}
	require.Empty(t, logged.String())
}

// TestAPasswordOfAFewCharactersIsInNoError has a BMC repeat it in each part of an answer.
func TestAPasswordOfAFewCharactersIsInNoError(t *testing.T) {
	const short = "zqz"
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Users = map[string]secret.Text{user: secret.New(short)} })
	config := configOf(server)
	config.Password = secret.New(short)
	for where, fault := range tellers {
		require.NoError(t, server.ClearFaults())
		server.AddFault(fault(short))
		_, err := newVerifier(t, config).Verify(t.Context())
		require.Error(t, err, where)
		for err := range chain(err) {
			require.NotContains(t, err.Error(), short, where)
			require.NotContains(t, err.Error(), "***", where)
		}
	}
}

// requireNone checks that a text does not contain another one, ignoring case, white
// space and quoting.
func requireNone(t *testing.T, text, other string) {
	t.Helper()
	plain := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }
	for _, form := range []string{other, strings.Trim(fmt.Sprintf("%q", other), `"`)} {
		require.NotContains(t, plain(text), plain(form))
	}
}

// chain ranges over an error and all that it unwraps to.
func chain(err error) func(func(error) bool) {
	return func(yield func(error) bool) {
		var walk func(error) bool
		walk = func(err error) bool {
			if err == nil {
				return true
			}
			if !yield(err) {
				return false
			}
			switch e := err.(type) {
			case interface{ Unwrap() error }:
				return walk(e.Unwrap())
			case interface{ Unwrap() []error }:
				for _, inner := range e.Unwrap() {
					if !walk(inner) {
						return false
					}
				}
			}
			return true
		}
		walk(err)
	}
}

// The BMC repeats the request, with the token of its session.
//
// SECURITY.md: Passwords and session tokens are removed from every text of a BMC before it reaches an error, a log or
// `last_error`.
func TestNoErrorHasTheToken(t *testing.T) {
	for _, auth := range []string{"session", "basic"} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Echo(http.StatusInternalServerError)})
		config := configOf(server)
		config.Auth = auth
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorContains(t, err, "***")
		require.NotRegexp(t, `[A-Z2-7]{26}`, err.Error(), "bmctest's tokens look so")
		requireNone(t, err.Error(), base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
}

// bmclib dumps its traffic if DEBUG_BMCLIB is set.
func TestBmclibsDumpHasNoCredentials(t *testing.T) {
	t.Setenv("DEBUG_BMCLIB", "true")
	dump, err := os.Create(filepath.Join(t.TempDir(), "dump"))
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = dump
	_, err = newVerifier(t, configOf(startRedfish(t))).Verify(t.Context())
	os.Stdout = stdout
	require.NoError(t, err)
	require.NoError(t, dump.Close())
	text, err := os.ReadFile(dump.Name())
	require.NoError(t, err)
	require.Contains(t, string(text), "GET /redfish/v1/ ")
	require.NotContains(t, string(text), user)
	require.NotContains(t, string(text), password)
	require.NotRegexp(t, `[A-Z2-7]{26}`, string(text), "bmctest's tokens look so")
}

type holder struct {
	config   bmc.Config
	verifier any
	byValue  any // the value that verifier points to
	driver   *bmc.Driver
}

func TestNothingPrintsAPassword(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	driver := newDriver(t, 1, map[string]bmc.Config{"node": config})
	require.NoError(t, driver.SetPower(t.Context(), "node", states.PowerOn)) // so that the driver keeps a session
	verifier := newVerifier(t, config)
	byValue := reflect.ValueOf(verifier).Elem().Interface()
	hidden := holder{config, verifier, byValue, driver}

	var out bytes.Buffer
	for _, value := range []any{config, &config, verifier, byValue, driver, hidden, &hidden, []holder{hidden}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&out, verb, value)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("made", "value", value)
		}
		encoded, _ := json.Marshal(value) // some are nothing to encode
		out.Write(encoded)
		encoded, _ = xml.Marshal(value)
		out.Write(encoded)
		_ = gob.NewEncoder(&out).Encode(value)
	}
	require.NotContains(t, out.String(), password)
	require.NotContains(t, strings.ToLower(out.String()), fmt.Sprintf("%x", password))
	require.NotRegexp(t, `[A-Z2-7]{26}`, out.String(), "bmctest's tokens look so")
	for _, value := range []any{config, verifier, hidden.byValue} {
		require.Contains(t, fmt.Sprint(value), "***")
	}
	var failed failures
	assert.Equal(&failed, []any{config, verifier}, "another") // by reflection, pointers followed
	require.NotContains(t, failed.text, password)
}

// failures collects the messages of assertions that fail.
type failures struct{ text string }

func (f *failures) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) }
