package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// login is what the registry of a test wants, as HTTP Basic has it: "pusher:s3cret".
const login = "cHVzaGVyOnMzY3JldA=="

// A pushed image has all platforms and the digest of the layout. A second push sends no blob.
func TestPush(t *testing.T) {
	out, digest := pushable(t)
	r := startRegistry(t, "")
	for range 2 {
		expect.OK(t, push(t.Context(), out, r.image))
	}
	if r.uploads.Load() != 4 {
		t.Errorf("%d blobs were sent in two pushes, want 4: two configurations and two layers, once", r.uploads.Load())
	}
	stored := expect.Got(remote.Index(expect.Got(name.ParseReference(r.image))(t)))(t)
	expect.OK(t, validate.Index(stored))
	expect.Same(t, "digest", digest, expect.Got(stored.Digest())(t).String())
	var got []string
	for _, m := range expect.Got(stored.IndexManifest())(t).Manifests {
		got = append(got, m.Platform.String())
	}
	expect.Same(t, "platforms", []string{"linux/amd64", "linux/arm64"}, got)
}

func TestPushLogsIn(t *testing.T) {
	out, _ := pushable(t)
	for _, c := range []struct {
		name, reason string
		settings     func(t *testing.T, host string) string
		refusal      string
	}{
		{"login", "docker login wrote it", func(_ *testing.T, host string) string {
			return `{"auths": {"` + host + `": {"auth": "` + login + `"}}}`
		}, ""},
		{"credential helper", "on laptops the login is in a keychain", func(t *testing.T, host string) string {
			helper(t)
			return `{"credHelpers": {"` + host + `": "capwin-test"}}`
		}, ""},
		{"wrong login", "the sentence says what to do", func(_ *testing.T, host string) string {
			return `{"auths": {"` + host + `": {"auth": "cHVzaGVyOndyb25n"}}}`
		}, "the registry refuses the login (HTTP 401): run `docker login "},
		{"no login", "the sentence says what to do", func(*testing.T, string) string {
			return "{}"
		}, "the registry refuses the login (HTTP 401): run `docker login "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRegistry(t, login)
			settings := t.TempDir()
			t.Setenv("DOCKER_CONFIG", settings)
			host, _, _ := strings.Cut(r.image, "/")
			expect.OK(t, os.WriteFile(filepath.Join(settings, "config.json"), []byte(c.settings(t, host)), 0o600))
			wantRefusal(t, c.reason, push(t.Context(), out, r.image), c.refusal)
		})
	}
}

// What cannot work is refused with a sentence that says what to do.
func TestPushRefuses(t *testing.T) {
	out, _ := pushable(t)
	damaged, _ := pushable(t)
	blobs := expect.Got(filepath.Glob(filepath.Join(damaged, "image", "blobs", "sha256", "*")))(t)
	for _, blob := range blobs {
		content := expect.Got(os.ReadFile(blob))(t)
		if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
			expect.OK(t, os.WriteFile(blob, bytes.Replace(content, content[20:24], []byte("spot"), 1), 0o600))
		}
	}
	r := startRegistry(t, "")
	for _, c := range []struct{ name, out, image, refusal string }{
		{"nothing built", t.TempDir(), r.image, "run `make image` first"},
		{"damaged layer", damaged, r.image, "run `make image` first"},
		{"name without a registry", out, "manager:v1", "write it like registry.example.com/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantRefusal(t, c.name, push(t.Context(), c.out, c.image), c.refusal)
		})
	}
	if r.uploads.Load() > 0 {
		t.Errorf("%d blobs were sent of images that were refused", r.uploads.Load())
	}
}

// A login must not cross a network in clear text, also if a registry on a private address, or a redirect, asks for it.
func TestPushEncrypts(t *testing.T) {
	var sent []string
	transport := encrypted{roundTrip(func(request *http.Request) (*http.Response, error) {
		sent = append(sent, request.URL.String())
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})}
	addresses := []string{
		"https://10.0.0.1/v2/", "http://127.0.0.1:5000/v2/", "http://[::1]:5000/v2/", "http://localhost:5000/v2/",
		"http://10.0.0.1/v2/", "http://registry.local/v2/", "http://localhost.example.com/v2/", "http://127.0.0.1.example.com/v2/",
	}
	for _, address := range addresses {
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if err == nil {
			expect.OK(t, response.Body.Close())
			continue
		}
		wantRefusal(t, address, err, "plain http is used on loopback addresses only")
	}
	expect.Same(t, "requests that were sent", addresses[:4], sent)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// pushable is a layout with images of programs that are small.
func pushable(t *testing.T) (out, digest string) {
	t.Helper()
	out = t.TempDir()
	var images []mutate.IndexAddendum
	for _, p := range platforms {
		image := expect.Got(imageOf(p, []byte("program for "+p.String()), map[string]string{"a": "b"}))(t)
		images = append(images, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	return out, expect.Got(writeLayout(filepath.Join(out, "image"), images, "v0.1.0", nil))(t).String()
}

// testRegistry is a registry that counts what it gets.
type testRegistry struct {
	image   string
	uploads atomic.Int32
}

// startRegistry runs the registry of go-containerregistry, which implements the distribution API. It wants this login, if any.
func startRegistry(t *testing.T, basic string) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if basic != "" && request.Header.Get("Authorization") != "Basic "+basic {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/blobs/") {
			r.uploads.Add(1)
		}
		handler.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.image = strings.TrimPrefix(server.URL, "http://") + "/capwin/manager:v0.1.0"
	return r
}

// helper puts a credential helper on the path, as Docker's protocol has it: "get" reads the registry and prints a login.
func helper(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	script := "#!/bin/sh\ncat >/dev/null\necho '{\"Username\": \"pusher\", \"Secret\": \"s3cret\"}'\n"
	program := filepath.Join(folder, "docker-credential-capwin-test")
	expect.OK(t, os.WriteFile(program, []byte(script), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// wantRefusal wants an error with this sentence, or none.
func wantRefusal(t *testing.T, reason string, err error, sentence string) {
	t.Helper()
	if sentence == "" {
		expect.OK(t, err)
		return
	}
	if err == nil || !strings.Contains(err.Error(), sentence) {
		t.Errorf("%s: got %v, want %q", reason, err, sentence)
	}
	if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), login)) {
		t.Errorf("%s: the error has the password: %v", reason, err)
	}
}
