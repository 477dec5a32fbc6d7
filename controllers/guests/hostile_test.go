package guests

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// connected are Clusters with one Cluster, prod, whose API server answers like this.
func connected(t *testing.T, answers http.HandlerFunc) *workload.Clusters {
	t.Helper()
	server := httptest.NewTLSServer(answers)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	kubeconfig := expect.Got(clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: "t"}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}))(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: prod.Namespace, Name: prod.Name + "-kubeconfig"},
		Data:       map[string][]byte{"value": kubeconfig},
	}
	return &workload.Clusters{Live: fake.NewClientBuilder().WithObjects(secret).Build(), QPS: 1000, Burst: 1000}
}

// TestFalseReports: what a guest or an API server sends instead of a report is no report, and takes no other report's turn.
func TestFalseReports(t *testing.T) {
	whole := func(name, text string) string {
		object := said(name, text)
		object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		return string(expect.Got(json.Marshal(object))(t))
	}
	metadata := func(name, more string) string {
		return `"metadata":{"namespace":"` + bootstrap.GuestNamespace + `","name":"` + name + `"` + more + `}`
	}
	fields := `,"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{` +
		strings.TrimSuffix(strings.Repeat(`"f:a":{},`, 25_000), ",") + `}}]`
	deep := `{` + metadata("deep", "") + `,"data":{"report":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`
	bodies := map[string]string{
		"large":     whole("large", strings.Repeat("x", 2<<20)),
		"fields":    strings.Replace(whole("fields", strings.Repeat("\x01", 16<<10)), `"name":"fields"`, `"name":"fields"`+fields, 1),
		"deep":      deep,
		"a-node":    `{"apiVersion":"v1","kind":"Node",` + metadata("a-node", "") + `,"data":{"report":"x"}}`,
		"another":   whole("win-2", "of another machine"),
		"no-text":   `{"apiVersion":"v1","kind":"ConfigMap",` + metadata("no-text", "") + `,"data":{"report":{}}}`,
		"forbidden": "",
		"good":      whole("good", strings.Repeat("\x01", 16<<10)), // JSON has six bytes for each
	}
	calls := map[string]int{}
	clusters := connected(t, func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		calls[r.Method+" "+name]++
		w.Header().Set("Content-Type", "application/json")
		if name == "forbidden" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(bodies[name])) // the client may have gone
	})
	var woken []cloud.Key
	ears := &Ears{Heard: func(keys ...cloud.Key) { woken = append(woken, keys...) }, GetClient: clusters.GetClient}
	for range 2 {
		var due []*report
		for name := range bodies {
			if name != "good" {
				due = append(due, &report{name: name, machine: one, boots: true, text: "before"})
			}
		}
		good := &report{name: "good", machine: two, boots: true}
		expect.Same(t, "the cluster is there", true, ears.pass(t.Context(), prod, append(due, good)))
		for _, r := range due {
			expect.Same(t, "what is kept of "+r.name, "before", r.text)
			expect.Same(t, "it is read again: "+r.name, true, r.boots && !r.read.IsZero())
		}
		expect.Same(t, "bytes of a good one", plan.KeptReportBytes, len(good.text))
	}
	expect.Same(t, "woken", []cloud.Key{two, two}, woken)
	for name := range bodies {
		expect.Same(t, "calls for "+name, 2, calls["GET "+name])
	}
	expect.Same(t, "objects that were asked for", len(bodies), len(calls))
}

// TestNameThatLeadsElsewhere: what stands in a config's status is the name of one object, and no path.
func TestNameThatLeadsElsewhere(t *testing.T) {
	clusters := connected(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"+bootstrap.GuestNamespace+"/configmaps/") || r.URL.Query().Has("watch") {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(http.StatusForbidden)
	})
	ears := &Ears{GetClient: clusters.GetClient}
	for _, name := range []string{"", ".", "..", "../../secrets/x", "a/../../../nodes/n", "%2e%2e", "a?watch=true", "a%3fb"} {
		r := &report{name: name}
		expect.Same(t, "the cluster is there", true, ears.pass(t.Context(), prod, []*report{r}))
		expect.Same(t, "text of "+name, "", r.text)
	}
}

// TestNoRoomForReports: a report for which its namespace has no room is none, and is kept once there is.
func TestNoRoomForReports(t *testing.T) {
	const all = 32 << 20
	woken := 0
	ears := &Ears{Bytes: &tenants.Bytes{}, Heard: func(...cloud.Key) { woken++ }}
	expect.Same(t, "others have all", true, ears.Bytes.Swap(one.Namespace, 0, all))
	r := &report{machine: one}
	ears.keep(r, "report", time.Now(), nil)
	expect.Same(t, "without room", []any{"", 0}, []any{r.text, woken})
	expect.Same(t, "others have less", true, ears.Bytes.Swap(one.Namespace, all, all-6))
	ears.keep(r, "report", time.Now(), nil)
	expect.Same(t, "with room", []any{"report", 1}, []any{r.text, woken})
	expect.Same(t, "it is counted", false, ears.Bytes.Swap(one.Namespace, 0, 1))
}
