// Package containerd asks the real containerd what it makes of the golden plans' drop-ins and registries. It is a module of its
// own, because nothing else needs containerd.
package containerd

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/cmd/containerd/server/config"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	hosts "github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/pelletier/go-toml/v2"
)

const goldens = "../../../bootstrap/testdata/golden/"

// step is what is read here of a step of a golden plan.
type step struct{ Do, Name, Path, Text, Match string }

// steps of a golden plan whose text or match is one string.
func steps(t *testing.T, file string) []step {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Phases []struct{ Steps []map[string]any }
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	var all []step
	for _, phase := range plan.Phases {
		for _, one := range phase.Steps {
			word := func(key string) string { text, _ := one[key].(string); return text }
			all = append(all, step{word("do"), word("name"), word("path"), word("text"), word("match")})
		}
	}
	return all
}

// The questions of a plan find their answers in the configuration that containerd makes of config.toml and the plan's drop-ins,
// and nothing where config.toml does not import them.
func TestSettingsAreSeen(t *testing.T) {
	files, err := filepath.Glob(goldens + "*.json")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, file := range files {
		all, folder := steps(t, file), t.TempDir()
		for _, one := range all {
			if name, ok := strings.CutPrefix(one.Path, `C:\Program Files\containerd\conf.d\`); ok && one.Text != "" {
				write(t, filepath.Join(folder, "conf.d", name), one.Text)
			}
		}
		seen, err := dump(t, folder, "version = 3\nimports = ['conf.d/*.toml']\n")
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		ignored, err := dump(t, folder, "version = 3\n")
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, one := range all {
			if one.Do != "fact" || one.Name != "settings-in-effect" && one.Name != "registries-folder" {
				continue
			}
			asked++
			match := regexp.MustCompile("(?i)" + one.Match)
			if !match.MatchString(seen) || match.MatchString(ignored) {
				t.Errorf("%s: %s does not tell used from ignored settings in\n%s\nand\n%s", file, one.Name, seen, ignored)
			}
		}
	}
	if asked < 5 {
		t.Errorf("only %d questions were found", asked)
	}
}

// From 2.3.5 on containerd takes our drop-in of version 3 beside a config.toml of version 2, and its settings are in effect.
// Before, it did not start ("drop-in config version 3 higher than root config version 2"), which is why the plan asks before it
// restarts it.
func TestOldConfiguration(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "conf.d", "10-capwin.toml"), "version = 3\noom_score = 7\n")
	seen, err := dump(t, folder, "version = 2\nimports = ['conf.d/*.toml']\n")
	if err != nil || !strings.Contains(seen, "oom_score = 7") {
		t.Errorf("%v, want oom_score of the drop-in in\n%s", err, seen)
	}
}

// dump is what `containerd config dump` prints of a folder's config.toml, without the defaults.
func dump(t *testing.T, folder, root string) (string, error) {
	t.Helper()
	path := filepath.Join(folder, "config.toml")
	write(t, path, root)
	read := config.Config{Version: 3}
	if err := config.LoadConfig(context.Background(), path, &read); err != nil {
		return "", err
	}
	var text strings.Builder
	if err := toml.NewEncoder(&text).SetIndentTables(true).Encode(&read); err != nil {
		t.Fatal(err)
	}
	return text.String(), nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The credentials of a golden plan open a registry that takes them itself, and one that sends its clients to a token service.
func TestCredentialsOpenRegistries(t *testing.T) {
	for name, registry := range map[string]func(*closed, http.ResponseWriter, *http.Request){
		"basic": (*closed).basic, "token": (*closed).token,
	} {
		if err := resolve(t, registry, "Authorization"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Why the header is not written in small letters.
	if err := resolve(t, (*closed).token, "authorization"); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("two headers: %v", err)
	}
}

const golden, host = "registries", "harbor.example.com:8443"

// resolve asks a registry for an image by the golden plan's hosts.toml, with the address and the CA of a server of this test, and
// with a name for the header.
func resolve(t *testing.T, registry func(*closed, http.ResponseWriter, *http.Request), header string) error {
	t.Helper()
	text := ""
	for _, one := range steps(t, goldens+golden+".json") {
		if strings.HasSuffix(one.Path, `\harbor.example.com8443\hosts.toml`) {
			text = one.Text
		}
	}
	found := regexp.MustCompile(`Authorization = \['(Basic [^']+)'\]`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("the plan %s has no credentials: %s", golden, text)
	}
	closed := &closed{credentials: found[1]}
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	closed.url = server.URL
	server.Config.Handler = onlyOne(func(w http.ResponseWriter, r *http.Request) { registry(closed, w, r) })

	address, folder := strings.TrimPrefix(server.URL, "https://"), t.TempDir()
	ca := filepath.Join(folder, "ca.crt")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	text = strings.NewReplacer(host, address, `C:\ProgramData\containerd\certs.d\harbor.example.com8443\ca.crt`, ca,
		"Authorization =", header+" =").Replace(text)
	write(t, filepath.Join(folder, strings.Replace(address, ":", "_", 1)+"_", "hosts.toml"), text)

	resolver := docker.NewResolver(docker.ResolverOptions{Hosts: hosts.ConfigureHosts(t.Context(), hosts.HostOptions{
		HostDir: hosts.HostDirFromRoot(folder),
		// The kubelet and ctr send none.
		Credentials: func(string) (string, string, error) { return "", "", nil },
	})})
	_, _, err := resolver.Resolve(t.Context(), address+"/app:1")
	return err
}

// closed is a registry that wants to know who asks.
type closed struct{ url, credentials string }

// onlyOne refuses a request with two headers, as nginx does.
func onlyOne(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Values("Authorization")) > 1 {
			http.Error(w, "duplicate header line", http.StatusBadRequest)
			return
		}
		next(w, r)
	}
}

func (c *closed) basic(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != c.credentials {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	manifest(w)
}

// token is docker.io, ghcr.io, GitLab and Harbor: https://distribution.github.io/distribution/spec/auth/token/.
func (c *closed) token(w http.ResponseWriter, r *http.Request) {
	asked := r.Header.Get("Authorization")
	switch {
	case r.URL.Path == "/token" && asked == c.credentials:
		fmt.Fprint(w, `{"token": "for-those-who-may"}`)
	case r.URL.Path == "/token":
		fmt.Fprint(w, `{"token": "for-anybody"}`)
	case asked == "Bearer for-those-who-may":
		manifest(w)
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+c.url+`/token",service="registry",scope="repository:app:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func manifest(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	w.Header().Set("Content-Length", "2")
	fmt.Fprint(w, "{}")
}
