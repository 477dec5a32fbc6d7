// Package charts answers in place of the repositories of Helm charts that clusters are told to install from. Who asks believes
// that it talks to them: it gets their URLs, over TLS, by a proxy on loopback that its environment names.
package charts

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// CloudProviderVSphere is the URL of the repository of vSphere's cloud provider.
const CloudProviderVSphere = "https://kubernetes.github.io/cloud-provider-vsphere"

// Upstream are the repositories whose files come from their projects, byte for byte.
func Upstream(ctx context.Context) (map[string]fs.FS, error) {
	archive, _, err := servers.Chart(ctx, servers.CloudProviderChart)
	if err != nil {
		return nil, err
	}
	return map[string]fs.FS{CloudProviderVSphere: os.DirFS(filepath.Dir(filepath.Dir(archive)))}, nil
}

// Server is a proxy that answers in place of hosts.
type Server struct {
	// Environment has programs ask it, and believe what it says.
	Environment []string

	repositories map[string]fs.FS
	proxy, hosts *http.Server
	opened       *connections

	mu    sync.Mutex
	asked []string
}

// Start answers for repositories by their URLs until Close: https alone, since the add-on provider's next release takes nothing
// else but oci. A folder of ours is for the certificate of who answers.
func Start(dir string, repositories map[string]fs.FS) (*Server, error) {
	var names []string
	for repository := range repositories {
		address, err := url.Parse(repository)
		if err != nil || address.Scheme != "https" || address.Host != address.Hostname() {
			return nil, fmt.Errorf("repository %s: want https://HOST/PATH, %w", repository, err)
		}
		names = append(names, address.Host)
	}
	ca, certificate, err := servers.Certify(names...)
	if err != nil {
		return nil, err
	}
	trusted := filepath.Join(dir, "charts-ca.crt")
	if err := os.WriteFile(trusted, ca, 0o600); err != nil {
		return nil, fmt.Errorf("write authority: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{repositories: repositories, opened: newConnections(listener.Addr())}
	s.proxy = &http.Server{Handler: http.HandlerFunc(s.connect), ReadHeaderTimeout: time.Minute}
	s.hosts = &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: time.Minute}
	s.Environment = []string{
		"HTTPS_PROXY=http://" + listener.Addr().String(), "NO_PROXY=127.0.0.1,localhost", "SSL_CERT_FILE=" + trusted,
	}
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	go func() { _ = s.proxy.Serve(listener) }()                            // ends with Close
	go func() { _ = s.hosts.Serve(tls.NewListener(s.opened, settings)) }() // likewise
	return s, nil
}

// Close ends the server and what is connected to it.
func (s *Server) Close() error { return errors.Join(s.proxy.Close(), s.hosts.Close()) }

// Asked are the URLs that were asked for so far, each once, and hosts that nobody answers for.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) note(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.asked, url) {
		s.asked = append(s.asked, url)
	}
}

// connect hands a client's connection to a host over to who answers for it.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	host := strings.TrimSuffix(r.Host, ":443")
	if r.Method != http.MethodConnect || !s.answersFor(host) {
		s.note(r.Host)
		http.Error(w, "nobody answers for "+r.Host+" here", http.StatusBadGateway)
		return
	}
	taken, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := taken.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil || !s.opened.hand(taken) {
		_ = taken.Close() // the client is gone, or we are
	}
}

func (s *Server) answersFor(host string) bool {
	for repository := range s.repositories {
		if strings.HasPrefix(repository+"/", "https://"+host+"/") {
			return true
		}
	}
	return false
}

// answer sends a file of the repository whose URL is the beginning of what is asked for.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	asked := "https://" + r.Host + r.URL.Path
	s.note(asked)
	for repository, files := range s.repositories {
		if name, found := strings.CutPrefix(asked, repository+"/"); found {
			http.ServeFileFS(w, r, files, name)
			return
		}
	}
	http.NotFound(w, r)
}
