package workload

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/odd"
)

// FuzzHeads: whatever is cut off an answer, what looks at it before it is decoded comes to an end.
func FuzzHeads(f *testing.F) {
	odd.Fuzz(f, checkHeads)
}

func checkHeads(_ *testing.T, source *odd.Source) {
	body := source.Object("nodes")
	body = body[:min(len(body), source.N(250)*20)]
	for range source.N(4) {
		if len(body) > 0 {
			body[source.N(len(body))] = odd.One[byte](source, '{', '}', '[', ']', '"', ',', ':', '\\', 0)
		}
	}
	sound(body)
	refusal(body)
}

// oddAnswers are those of an API server to one call after another.
type oddAnswers struct{ *odd.Source }

func (a oddAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	code := odd.One(a.Source, 200, 200, 200, 200, 404, 403, 500, 302)
	var items []any
	var object any
	switch {
	case strings.Contains(r.URL.Path, "/nodes"):
		for range a.N(4) {
			items = append(items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.Text(), Labels: a.Labels()}})
		}
	case strings.Contains(r.URL.Path, "/deployments"):
		for range a.N(3) {
			w := a.Workload()
			items = append(items, appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace}, Spec: appsv1.DeploymentSpec{Template: w.Template},
			})
		}
	case strings.Contains(r.URL.Path, "/runtimeclasses"):
		object = append(a.Classes(), nodev1.RuntimeClass{})[0]
	case strings.Contains(r.URL.Path, "/services"):
		service := corev1.Service{}
		service.Spec.Selector = odd.One(a.Source, map[string]string{"k8s-app": "kube-dns"}, a.Labels())
		object = service
	default:
		object = corev1.ConfigMap{Data: a.Labels()}
	}
	if object == nil || a.Once(12) {
		object = map[string]any{"metadata": map[string]any{"continue": odd.One(a.Source, "", "more", a.Text())}, "items": items}
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(a.JSON(object))),
	}, nil
}

// FuzzAnswers: whatever an API server answers, who reads of it has it, or an error.
func FuzzAnswers(f *testing.F) {
	odd.Fuzz(f, checkAnswers)
}

func checkAnswers(t *testing.T, source *odd.Source) {
	for range 3 {
		web := &http.Client{Transport: guarded{next: oddAnswers{source}, line: newLine(), namespace: newGate(), clock: &clock{}}}
		api, _, err := newClients("https://workload.test", web, 10_000, 10_000)
		expect.OK(t, err)
		if found, err := readDNS(t.Context(), api); err == nil && len(found.Linux.Found) > mostPages*mostNodes {
			t.Errorf("%d Nodes", len(found.Linux.Found))
		}
		_, _ = readControlPlane(t.Context(), api)                    // an error is as good
		_, _ = lookFor(t.Context(), api, clusterInfo, kubeletConfig) // an error is as good
	}
}

// FuzzKubeconfig: a kubeconfig of any text is refused, or names a server that we may call.
func FuzzKubeconfig(f *testing.F) {
	var ca string
	odd.Fuzz(f, func(t *testing.T, source *odd.Source) {
		if ca == "" {
			ca = aCA(t)
		}
		checkKubeconfig(t, source, ca)
	})
}

func checkKubeconfig(t *testing.T, source *odd.Source, ca string) {
	words := strings.Fields(text("https://127.0.0.1:6443", ca))
	kubeconfig := text("https://127.0.0.1:6443", ca)
	for range source.N(5) {
		kubeconfig = strings.Replace(kubeconfig, odd.One(source, words...), odd.One(source, source.Text(), "[]", "{a: b}", "!!binary x",
			"server:", "user: {exec: {}}", "- - -", "0x7", "null"), 1)
	}
	access, err := vet([]byte(kubeconfig), "any")
	if err == nil && !strings.HasPrefix(access.server, "https://") {
		t.Errorf("accepted %q", kubeconfig)
	}
}
