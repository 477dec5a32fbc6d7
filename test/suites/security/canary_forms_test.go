package security

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	jsonlog "k8s.io/component-base/logs/json"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// canary is a secret that is searched for.
type canary string

// newCanary is of letters that no encoding changes, so that a part of it is found, too.
func newCanary() canary { return canary("canary-" + rand.Text()) }

// window is as much of a canary as must not be seen: a line of a hexadecimal dump has 16 characters.
const window = 9

// forms is how many ways found knows in which a secret can be written.
const forms = 13

// found says in which form a part of the secret is in a text; empty when it is not.
func (c canary) found(text string) string {
	whole := string(c)
	for name, form := range map[string]string{
		"hexadecimal": hex.EncodeToString([]byte(c)), "capital hexadecimal": strings.ToUpper(hex.EncodeToString([]byte(c))),
		"URL query": url.QueryEscape(whole), "URL path": url.PathEscape(whole), "XML": escapeXML(whole), "Go string": quoted(whole),
		"JSON": jsonOf(whole), "bytes": strings.Trim(fmt.Sprintf("%d", []byte(c)), "[]"),
		"base64 of UTF-16": middle(base64.StdEncoding.EncodeToString(wide(whole))),
	} {
		if strings.Contains(text, form) {
			return name
		}
	}
	for shift := range 3 {
		plain := append(make([]byte, shift), c...)
		if strings.Contains(text, middle(base64.StdEncoding.EncodeToString(plain))) ||
			strings.Contains(text, middle(base64.URLEncoding.EncodeToString(plain))) {
			return "base64"
		}
	}
	secret := strings.TrimPrefix(whole, "canary-")
	for i := 0; i+window <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+window]) {
			return "plain text"
		}
	}
	return ""
}

// middle leaves out the characters that depend on what stands beside.
func middle(encoded string) string {
	return strings.TrimRight(encoded, "=")[4 : len(strings.TrimRight(encoded, "="))-3]
}

func escapeXML(text string) string {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a buffer takes everything
	return escaped.String()
}

func quoted(text string) string { return strings.Trim(fmt.Sprintf("%q", text), `"`) }

func jsonOf(text string) string {
	encoded, _ := json.Marshal(text) // text is always JSON
	return strings.Trim(string(encoded), `"`)
}

func wide(text string) []byte {
	var all []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		all = binary.LittleEndian.AppendUint16(all, unit)
	}
	return all
}

// kubeconfigKeys are the secrets of a kubeconfig.
func kubeconfigKeys(t *testing.T, file string) map[string]canary {
	t.Helper()
	config := expect.Got(clientcmd.Load(expect.Got(os.ReadFile(file))(t)))(t)
	all := map[string]canary{}
	for name, user := range config.AuthInfos {
		key := string(user.ClientKeyData)
		_, key, _ = strings.Cut(key, "-----\n")
		all["key of "+name+" in the kubeconfig"] = canary(key[:60])
	}
	return all
}

// What is searched for is found in every form, or a search that finds nothing says nothing.
func TestCanariesAreFound(t *testing.T) {
	c := newCanary()
	text := string(c)
	for name, form := range map[string]string{
		"plain": "a password=" + text + ";", "part": text[12 : 12+window],
		"base64":              base64.StdEncoding.EncodeToString([]byte(text)),
		"base64 in something": base64.StdEncoding.EncodeToString([]byte("x" + text + "yz")),
		"base64 after two":    base64.URLEncoding.EncodeToString([]byte("xy" + text)), "hex": hex.EncodeToString([]byte(text)),
		"dump": hex.Dump([]byte("some text before " + text)), "bytes": fmt.Sprintf("%d", []byte(text)),
		"PowerShell": base64.StdEncoding.EncodeToString(wide(text)), "%x": fmt.Sprintf("%X", text),
	} {
		if c.found(form) == "" {
			t.Errorf("it is not found as %s: %s", name, form)
		}
	}
	if form := c.found(strings.Repeat(string(newCanary()), 100)); form != "" {
		t.Errorf("another is taken for it, as %s", form)
	}
	special := canary(`a pass/word & "more" <x>`)
	for _, form := range []string{
		url.QueryEscape(string(special)), url.PathEscape(string(special)), escapeXML(string(special)), quoted(string(special)),
		jsonOf(string(special)),
	} {
		if special.found(form) == "" {
			t.Errorf("%s is not found", form)
		}
	}
}

// The verbosity at which client-go prints Secrets cannot be set, in any way.
func TestVerbosity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // one for all, where the manager is built once
	starts := func(flag string) attack {
		return attack{by: "operator", tries: "starts a manager with " + flag, try: func(t *testing.T) string {
			printed := expect.Got(servers.Refusal(t.Context(), dir, flag))(t)
			if !strings.Contains(printed, "prints the bodies of API requests") {
				t.Errorf("the manager says %q", printed)
			}
			return "refused: it would print Secrets"
		}}
	}
	attemptKind(t, starts("--v=8"), starts("--v=10"))
	attemptKind(t, starts("--vmodule=*=9"), starts("--vmodule=request=8"))
}

// Types that hold secrets do not print them, however they are printed.
func TestSecretsHideThemselves(t *testing.T) {
	t.Parallel()
	c := newCanary()
	held := map[string]any{
		"bootstrap.Input":  bootstrap.Input{Token: string(c), Sources: map[string][]byte{"secret/a/b": []byte(c)}},
		"*bootstrap.Input": &bootstrap.Input{Token: string(c)},
		"plan.Plan":        plan.Plan{Redact: []string{string(c)}},
		"*plan.Plan":       &plan.Plan{Redact: []string{string(c)}},
		"cloud.UserData":   cloud.UserData(c),
		"cloud.Machine":    cloud.Machine{UserData: cloud.UserData(c).Read},
		"*cloud.Machine":   &cloud.Machine{UserData: cloud.UserData(c).Read},
	}
	var attacks []attack
	for name, value := range held {
		attacks = append(attacks, attack{by: "operator", tries: "logs a " + name + " in any format", try: func(t *testing.T) string {
			for how, printed := range ways(value) {
				if form := c.found(printed); form != "" {
					t.Errorf("%s shows it as %s: %s", how, form, printed)
				}
			}
			return "it prints as [hidden]"
		}})
	}
	attempt(t, attacks...)
}

// ways in which a value is printed.
func ways(value any) map[string]string {
	all := map[string]string{"error": fmt.Errorf("mend %v: no", value).Error()} //nolint:err113 // because its text is what counts
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		all[verb] = fmt.Sprintf(verb, value)
	}
	var lines bytes.Buffer
	logger, _ := jsonlog.NewJSONLogger(0, jsonlog.AddNopSync(&lines), nil, nil)
	logr.New(logger.GetSink()).Info("read", "value", value)
	all["log in JSON"] = lines.String()
	return all
}
