package world

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Door opens an address of the workload clusters with these faults in it: the first part of a path is the namespace.
func (w *World) Door(t *testing.T, faults *Faults) *httptest.Server {
	t.Helper()
	direct := expect.Got(rest.TransportFor(w.Management.Config))(t)
	server := expect.Got(url.Parse(w.Management.Config.Host))(t)
	type asked struct{}
	proxy := &httputil.ReverseProxy{
		Transport: faulty{faults, "workload", func(r *http.Request) string {
			namespace, _ := r.Context().Value(asked{}).(string)
			return namespace
		}, direct},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Header.Del("Authorization") // the way there is an admin's
		},
	}
	door := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		namespace, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		r.URL.Path = "/" + rest
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asked{}, namespace)))
	}))
	door.StartTLS()
	t.Cleanup(door.Close)
	return door
}

// Through shows our controllers the workload cluster of the namespace through a door. Cluster API has its connection already.
func (n *Namespace) Through(t *testing.T, door *httptest.Server) {
	t.Helper()
	const name = "faulty"
	config := clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: "any"}},
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: door.URL + "/" + n.Name, CertificateAuthorityData: pemOf(door.Certificate()),
		}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: n.ClusterName + "-kubeconfig"}}
	Change(t, n.Client, secret, func(s *corev1.Secret) {
		s.Data = map[string][]byte{"value": expect.Got(clientcmd.Write(config))(t)}
	})
}

func pemOf(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
