// SPDX-License-Identifier: Apache-2.0

package masked_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/internal/masked"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
)

func TestThePasswordsOfURLsAreMasked(t *testing.T) {
	for text, want := range map[string]string{
		"http://user:hunter2@h/x":                      "http://user:******@h/x",
		"HTTPS+x://user:hunter2@[::1]:80?x=a@b":        "HTTPS+x://user:******@[::1]:80?x=a@b",
		"//user:hunter2@h":                             "//user:******@h",
		" http://user:hunter2@h":                       " http://user:******@h",
		"http://:hunter2@h":                            "http://:******@h",
		"http://a@b:hunter2@h":                         "http://a@b:******@h",
		"http://user:hunter2:@@h#a@b":                  "http://user:******@h#a@b",
		"http://user:hun ter'2\"@h":                    "http://user:******@h",
		"http://user:1 hunter2@h":                      "http://user:******@h",
		"http://user:hun/ter?2#@h/x":                   "http://user:******@h/x",
		"http://[user:hunter2@h":                       "http://[user:******@h",
		"get http://user:hunter2@h/x, or bob@x.org":    "get http://user:******@h/x, or bob@x.org",
		"http://h/ http://user:hunter2@h":              "http://h/ http://user:******@h",
		"http://a:hunter2@h http://b:hunter2@h":        "http://a:******@h http://b:******@h",
		`parse "http://user:hun ter2@h": bad`:          `parse "http://user:******@h": bad`,
		`{'a': 'http://user:hunter2@h', 'b': 'c@d'}`:   `{'a': 'http://user:******@h', 'b': 'c@d'}`,
		"at http://user:hun/ter2@h/x":                  "at http://user:******@h/x",
		`http:\/\/user:hunter2@h`:                      `http:\/\/user:******@h`,
		`{"a": "http:\/\/user:hun\/ter2@h\/x"}`:        `{"a": "http:\/\/user:******@h\/x"}`,
		"http://user:hunter2@h\nhttp://user:hunter2@h": "http://user:******@h\nhttp://user:******@h",
	} {
		require.Equal(t, want, masked.Text(text), text)
	}
	for _, text := range []string{
		"", "a@b", "http://h", "http://user@h/", "http://user:@h", "http://h:80/@scope/a:b@c", "oci://h:5000/image@sha256:0a",
		"http://[::1]:80/a@b",
		"see http://h:80, or ask bob@x.org", `{"a": "http://h:80", "b": "c@d"}`, "at http://h:80\nask: bob@x.org", "git@h:a//b",
		"http://user:port", "// a: b",
		"http://[fe80::1%eth0]/a@b", "at http://[::1]: a@b", `"http:\/\/h:80\/a@b"`,
	} {
		require.Equal(t, text, masked.Text(text))
	}
}

func TestSecretsAreFoundByTheirKeysAndAsPasswordsOfURLs(t *testing.T) {
	given := map[string]any{
		"ipmi_password":            "hunter2",
		"snmp_community":           "hunter2",
		"irmc_snmp_community_read": "hunter2",
		"ipmi_hex_kg_key":          "hunter2",
		"a_token":                  []any{"hunter2"},
		"a_secret":                 map[string]any{"a": "b", "deploy_iso": "http://u:hunter2@h/iso"},
		"list":                     []any{[]any{"http://u:hunter2@h", json.Number("1")}, map[string]any{"u": "ftp://u:hunter2@h"}},
		"http://u:hunter2@h":       true,
		"image_http_proxy":         "u:hunter2@proxy:3128",
		"image_https_proxy":        "//u:hunter2@proxy",
		"image_no_proxy":           "h:80,.x",
		"a_proxy":                  "at http://u:hunter2@h",
		"userPasswd":               "hunter2",
		"user_pwd2":                "hunter2",
		"PwdChangePolicy":          "Always",
		"number_password":          json.Number("1"),
		"none_password":            nil,
		"user":                     "u:p@h",
		"settings": []any{
			map[string]any{"name": "AdminPassword", "value": "hunter2"},
			map[string]any{"name": "AdminPassword", "value": json.Number("1"), "default": "x"},
			map[string]any{"name": "AdminPassword", "value": nil},
			map[string]any{"name": "AdminPwd", "value": "hunter2"},
			map[string]any{"name": "LogicalProc", "value": "Enabled"},
			map[string]any{"name": []any{"AdminPassword"}, "value": "Enabled"},
		},
	}
	require.Equal(t, map[string]any{
		"ipmi_password":            "******",
		"snmp_community":           "******",
		"irmc_snmp_community_read": "******",
		"ipmi_hex_kg_key":          "******",
		"a_token":                  "******",
		"a_secret":                 map[string]any{"a": "b", "deploy_iso": "http://u:******@h/iso"},
		"list":                     []any{[]any{"http://u:******@h", json.Number("1")}, map[string]any{"u": "ftp://u:******@h"}},
		"http://u:******@h":        true,
		"image_http_proxy":         "u:******@proxy:3128",
		"image_https_proxy":        "//u:******@proxy",
		"image_no_proxy":           "h:80,.x",
		"a_proxy":                  "at http://u:******@h",
		"userPasswd":               "******",
		"user_pwd2":                "******",
		"PwdChangePolicy":          "Always",
		"number_password":          "******",
		"none_password":            nil,
		"user":                     "u:p@h",
		"settings": []any{
			map[string]any{"name": "AdminPassword", "value": "******"},
			map[string]any{"name": "AdminPassword", "value": "******", "default": "x"},
			map[string]any{"name": "AdminPassword", "value": nil},
			map[string]any{"name": "AdminPwd", "value": "******"},
			map[string]any{"name": "LogicalProc", "value": "Enabled"},
			map[string]any{"name": []any{"AdminPassword"}, "value": "Enabled"},
		},
	}, masked.Object(given))
	require.Equal(t, "hunter2", given["ipmi_password"], "the object of the caller stays")
}

// SECURITY.md: Logs have no passwords of URLs.
func TestALogHasNoPasswordsOfURLs(t *testing.T) {
	var out strings.Builder
	const secret = "http://u:hunter2@h"
	handler := masked.Log(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))
	log := slog.New(handler).With("with", secret).WithGroup("g").With("w", 1)
	log.Info("at "+secret, "text", secret, "error", fmt.Errorf("open %s: %w", secret, io.EOF), "list", []string{secret},
		"group", slog.GroupValue(slog.Any("a", url.URL{Host: "h"})), "late", slog.AnyValue(late{}))
	require.Contains(t, out.String(), `msg="at http://u:******@h" with=http://u:******@h g.w=1 g.text=http://u:******@h `+
		`g.error="open http://u:******@h: EOF" g.list=[http://u:******@h]`)
	require.Contains(t, out.String(), "g.late=http://u:******@h\n")
	require.NotContains(t, out.String(), "hunter2")
	log.Debug(secret)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "the level is the other handler's")
}

func TestTheLogMasksWhatAValueHasInJSON(t *testing.T) {
	secret, shown := "http://u:hunter2@h", "http://u:******@h"
	type image struct{ Source *string }
	for name, value := range map[string]any{
		"behind pointers": map[string]*image{"a": {&secret}}, "in a method's text": marshaled(secret),
		"in an error's JSON": failed{marshaled(secret)},
	} {
		var out strings.Builder
		slog.New(masked.Log(slog.NewJSONHandler(&out, nil))).Info("", "value", value)
		require.Contains(t, out.String(), shown, name)
		require.NotContains(t, out.String(), "hunter2", name)
	}
	var out strings.Builder
	log := slog.New(masked.Log(slog.NewJSONHandler(&out, nil)))
	log.Info("", "plain", map[string]*image{"<a>": {&shown}}, "error", &failing{}, "panic", panicking{}, "cycle", func() {})
	require.Contains(t, out.String(), `"plain":{"<a>":{"Source":"http://u:******@h"}},"error":"it failed","panic":"!PANIC: broken"`)
}

func TestTheLogMasksBytes(t *testing.T) {
	secret, shown := `{"a":"http:\/\/u:hunter2@h"} `, `{\"a\":\"http:\\/\\/u:******@h\"} `
	type text []byte
	for _, value := range []any{[]byte(secret), json.RawMessage(secret), json.RawMessage("no JSON: " + secret), text(secret)} {
		var out strings.Builder
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(masked.Log(handler)).Info("", "value", value)
		}
		require.Equal(t, 2, strings.Count(out.String(), shown), "%T: %s", value, &out)
	}
	require.NotContains(t, masked.Text(fmt.Sprintf("the BMC answers %q", secret)), "hunter2")
	var out strings.Builder
	slog.New(masked.Log(slog.NewTextHandler(&out, nil))).Info("",
		"value", []byte("plain"), "raw", json.RawMessage(`{ "a": 1}`), "none", []int{1})
	require.Contains(t, out.String(), `value="plain" raw="{ \"a\": 1}" none=[1]`)
}

// marshaled has a text in JSON alone.
type marshaled string

func (m marshaled) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"url": string(m)})
}

func (marshaled) Format(to fmt.State, _ rune) { fmt.Fprint(to, "no text") }

// failed is an error with more in JSON.
type failed struct{ marshaled }

func (failed) Error() string { return "no text" }

type failing struct{}

func (*failing) Error() string { return "it failed" }

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("broken") }

type late struct{}

func (late) LogValue() slog.Value { return slog.StringValue("http://u:hunter2@h") }

// part draws a text of characters that are special in URLs, without those that are left out.
func part(t *rapid.T, name, without string, most int) string {
	letters := []rune{}
	for _, r := range "ab1é:/?#@ \"'<[]%\\\t*," {
		if !strings.ContainsRune(without, r) {
			letters = append(letters, r)
		}
	}
	return rapid.StringOfN(rapid.SampledFrom(letters), 0, most, -1).Draw(t, name)
}

func TestNoPasswordOfAURLIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user, host, tail := part(t, "user", ":/?#@", 5), part(t, "host", ":/?#@[", 5), part(t, "tail", ":", 9)
		if tail != "" {
			tail = "/" + tail
		}
		secret := part(t, "password", "/?#", 9) + "!"
		require.Equal(t, "http://"+user+":******@"+host+tail, masked.Text("http://"+user+":"+secret+"@"+host+tail))

		// No parser accepts this URL, since the password has a slash.
		secret = "!" + part(t, "password with a slash", "@", 9) + "/"
		require.Equal(t, "http://"+user+":******@"+host, masked.Text("http://"+user+":"+secret+"@"+host))

		const noUserInfo = "/?#@ \"'<[]\\\t" // a URL within a text
		user, secret, host = part(t, "user in a text", noUserInfo+":", 5), part(t, "password in a text", noUserInfo, 9)+"!",
			part(t, "host in a text", noUserInfo+":", 5)
		before := part(t, "before", "@/", 9) + " "
		require.Equal(t, before+"http://"+user+":******@"+host+tail, masked.Text(before+"http://"+user+":"+secret+"@"+host+tail))
	})
}

func TestMaskingIsTotalAndDoneAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := part(t, "a", "", 20) + "://" + part(t, "b", "", 20) + "://" + part(t, "c", "", 20)
		shown := masked.Text(text)
		require.Equal(t, shown, masked.Text(shown))
		value := map[string]any{text: []any{map[string]any{"a_proxy": text, "password": text}, text}}
		once := masked.Value(value)
		require.Equal(t, once, masked.Value(once))
	})
}

func TestStartIsAPrefixOfTheMaskedText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SampledFrom([]string{"http://", "//", "u:", "pw", "@", "/", " ", "h"})
		text := strings.Join(rapid.SliceOfN(parts, 0, 30).Draw(t, "parts"), "")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		whole, start := masked.Text(text), masked.Start(text, n)
		require.True(t, strings.HasPrefix(whole, start))
		require.GreaterOrEqual(t, len(start), min(n, len(whole)))
	})
}

func TestTheTimeOfMaskingGrowsWithTheLengthOfATextAndNotItsSquare(t *testing.T) {
	long := "@" + strings.Repeat("://x:y", 1<<20) // minutes, if each URL looked at the whole text
	require.Equal(t, long, masked.Text(long))
	require.Equal(t, "@://x:******@h", masked.Text(long+"@h"))
}

func FuzzText(f *testing.F) {
	f.Add("http://user:pass@host/x")
	f.Add("//a:b@c")
	f.Add(`http:\/\/user:pass@host\/x`)
	f.Fuzz(func(t *testing.T, text string) {
		shown := masked.Text(text)
		require.Equal(t, shown, masked.Text(shown))
		given, err := url.Parse(text)
		if err != nil {
			return
		}
		if secret, has := given.User.Password(); has && secret != "" && given.Host != "" {
			got, err := url.Parse(shown)
			require.NoError(t, err)
			require.Equal(t, url.UserPassword(given.User.Username(), masked.Secret).String(), got.User.String())
			require.Equal(t, given.Host, got.Host)
		}
	})
}
