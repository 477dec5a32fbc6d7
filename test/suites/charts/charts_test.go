package charts

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

const ours = "https://charts.example.com/ours"

var small = fstest.MapFS{
	"Chart.yaml": {Data: []byte("apiVersion: v2\nname: small\nversion: 1.2.3\nappVersion: 4.5.6\n")},
	"templates/config.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: small}
data: {version: {{ .Chart.AppVersion }}}
`)},
}

// What is asked of a repository's URL comes from its files, with a certificate of its name; no other host is answered for.
func TestAnswers(t *testing.T) {
	repositories := expect.Got(Upstream(t.Context()))(t)
	repositories[ours] = expect.Got(Repository(small))(t)
	server := expect.Got(Start(t.TempDir(), repositories))(t)
	defer func() { expect.Fine(t, server.Close()) }()
	browser := clientOf(t, server)

	archive, version, err := servers.Chart(t.Context(), servers.CloudProviderChart)
	expect.OK(t, err)
	index := CloudProviderVSphere + "/index.yaml"
	entry := newest(t, get(t, browser, index), servers.CloudProviderChart)
	expect.Same(t, "the newest version of the cloud provider's chart", version, entry.Version)
	published := get(t, browser, entry.URLs[0])
	if want := expect.Got(os.ReadFile(archive))(t); !bytes.Equal(published, want) {
		t.Errorf("%s has %d bytes, and the file of its project has %d", entry.URLs[0], len(published), len(want))
	}
	wantDigest(t, entry, published)

	entry = newest(t, get(t, browser, ours+"/index.yaml"), "small")
	wantDigest(t, entry, get(t, browser, ours+"/"+entry.URLs[0]))

	if answer, err := browser.Get("https://example.org/index.yaml"); err == nil {
		_ = answer.Body.Close()
		t.Errorf("example.org has the answer %s", answer.Status)
	}
	status, _ := ask(t, browser, ours+"/none.tgz")
	expect.Same(t, "status of what is not there", http.StatusNotFound, status)
	want := []string{
		index, "https://kubernetes.github.io/cloud-provider-vsphere/charts/vsphere-cpi-1.36.0.tgz", ours + "/index.yaml",
		ours + "/small-1.2.3.tgz", "example.org:443", ours + "/none.tgz",
	}
	expect.Same(t, "what was asked", want, server.Asked())
}

// A repository has the same bytes each time, which its index names.
func TestRepositoryIsReproducible(t *testing.T) {
	first, second := expect.Got(Repository(small))(t), expect.Got(Repository(small))(t)
	for _, name := range []string{"index.yaml", "small-1.2.3.tgz"} {
		if a, b := expect.Got(fs.ReadFile(first, name))(t), expect.Got(fs.ReadFile(second, name))(t); !bytes.Equal(a, b) {
			t.Errorf("%s is not the same twice", name)
		}
	}
}

func TestWrongRepositories(t *testing.T) {
	for _, wrong := range []string{"http://charts.example.com", "https://charts.example.com:8443/x", "charts"} {
		if server, err := Start(t.TempDir(), map[string]fs.FS{wrong: small}); err == nil {
			t.Errorf("%s is served: %v", wrong, server.Close())
		}
	}
	if _, err := Repository(fstest.MapFS{"Chart.yaml": {Data: []byte("name: small\n")}}); err == nil {
		t.Error("a chart without a version is packed")
	}
}

// clientOf asks as a program does that has the server's environment.
func clientOf(t *testing.T, server *Server) *http.Client {
	t.Helper()
	environment := map[string]string{}
	for _, variable := range server.Environment {
		name, value, _ := strings.Cut(variable, "=")
		environment[name] = value
	}
	proxy := expect.Got(url.Parse(environment["HTTPS_PROXY"]))(t)
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(expect.Got(os.ReadFile(environment["SSL_CERT_FILE"]))(t)) {
		t.Fatal("SSL_CERT_FILE has no certificate")
	}
	transport := &http.Transport{
		Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, browser *http.Client, url string) []byte {
	t.Helper()
	status, content := ask(t, browser, url)
	if status != http.StatusOK {
		t.Fatalf("%s has the status %d: %s", url, status, content)
	}
	return content
}

func ask(t *testing.T, browser *http.Client, url string) (status int, content []byte) {
	t.Helper()
	answer, err := browser.Get(url)
	expect.OK(t, err)
	defer func() { expect.Fine(t, answer.Body.Close()) }()
	return answer.StatusCode, expect.Got(io.ReadAll(answer.Body))(t)
}

type chartVersion struct {
	Version, Digest string
	URLs            []string
}

// newest is the first one that an index has.
func newest(t *testing.T, index []byte, chart string) chartVersion {
	t.Helper()
	var read struct{ Entries map[string][]chartVersion }
	expect.OK(t, yaml.Unmarshal(index, &read))
	if len(read.Entries[chart]) == 0 {
		t.Fatalf("the index has no %s", chart)
	}
	return read.Entries[chart][0]
}

func wantDigest(t *testing.T, of chartVersion, archive []byte) {
	t.Helper()
	digest := sha256.Sum256(archive)
	expect.Same(t, "digest of "+of.URLs[0], of.Digest, hex.EncodeToString(digest[:]))
}
