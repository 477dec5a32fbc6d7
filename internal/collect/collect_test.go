package collect

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	nodesPath   = "/api/v1/nodes"
	classesPath = "/apis/node.k8s.io/v1/runtimeclasses"
	spacesPath  = "/api/v1/namespaces"
	dnsPath     = "/api/v1/namespaces/kube-system/services/kube-dns"
	setsPath    = "/apis/apps/v1/daemonsets"
)

// server answers with a text at each path, or refuses where that is empty.
type server map[string]string

// collected is a cluster with a Node of each system, read by whoever has this server.
func collected() server {
	return server{
		"/version": `{"gitVersion": "v1.36.3"}`,
		nodesPath: `{"items": [
			{"metadata": {"name": "linux-0", "labels": {"kubernetes.io/os": "linux"}}},
			{"metadata": {"name": "win-0", "labels": {"kubernetes.io/os": "windows"}}, "spec": {"taints": [{"key": "os", "value": "w"}]},
			 "status": {"capacity": {"pods": "110"}, "nodeInfo": {"kubeletVersion": "v1.36.2"}}}]}`,
		classesPath: `{"items": [{"metadata": {"name": "windows-2022", "labels": {"a": "b"}}, "handler": "x"}]}`,
		spacesPath: `{"items": [{"metadata": {"name": "free"}},
			{"metadata": {"name": "bound", "annotations": {"openshift.io/node-selector": "a=b"}}}]}`,
		dnsPath: `{"spec": {"selector": {"k8s-app": "kube-dns"}}}`,
		setsPath: `{"items": [{"metadata": {"namespace": "a", "name": "set"},
			"spec": {"template": {"spec": {"nodeName": "x"}}}}]}`,
		"/apis/apps/v1/deployments":  `{"items": [{"metadata": {"namespace": "a", "name": "bare"}}]}`,
		"/apis/apps/v1/statefulsets": `{"items": []}`,
	}
}

// ServeHTTP implements http.Handler.
func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	text, there := s[r.URL.Path]
	switch {
	case !there:
		w.WriteHeader(http.StatusNotFound)
	case text == "":
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
		})
	default:
		_, _ = w.Write([]byte(text))
	}
}

func (s server) collector(t *testing.T) *Collector {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	api := expect.Got(apiserver.NewREST(&rest.Config{Host: web.URL, QPS: -1}, web.Client()))(t)
	return &Collector{Server: apiserver.Reader{REST: api, Page: 10, MostPages: 2}, MostOfNodes: 1 << 10}
}

// TestRead: of what an API server shows is kept what decides where pods go.
func TestRead(t *testing.T) {
	c := collected().collector(t)
	expect.OK(t, c.Read(t.Context()))
	expect.Same(t, "version", "v1.36.3", c.Version)
	expect.Same(t, "on Linux", []placement.Node{{Name: "linux-0", Labels: map[string]string{corev1.LabelOSStable: "linux"}}},
		c.Linux)
	expect.Same(t, "on Windows", []placement.Node{{
		Name: "win-0", Labels: map[string]string{corev1.LabelOSStable: "windows"}, Taints: []corev1.Taint{{Key: "os", Value: "w"}},
	}}, c.Windows)
	expect.Same(t, "kubelets", map[string]string{"win-0": "v1.36.2"}, c.Kubelets)
	expect.Same(t, "pods", map[string]int{"win-0": 110}, c.MaxPods)
	expect.Same(t, "classes", 1, len(c.RuntimeClasses))
	expect.Same(t, "a class has its name alone", metav1.ObjectMeta{Name: "windows-2022"}, c.RuntimeClasses[0].ObjectMeta)
	expect.Same(t, "namespaces that select", map[string]map[string]string{"bound": {"a": "b"}}, c.Selectors)
	expect.Same(t, "cluster DNS", map[string]string{"k8s-app": "kube-dns"}, c.DNS)
	var found []placement.Workload
	expect.OK(t, c.Workloads(t.Context(), func(w Workload) error {
		found = append(found, expect.Got(w.Decode())(t))
		return nil
	}))
	set := placement.Workload{Kind: "DaemonSet", Namespace: "a", Name: "set"}
	set.Template.Spec.NodeName = "x"
	expect.Same(t, "workloads", []placement.Workload{set, {Kind: "Deployment", Namespace: "a", Name: "bare"}}, found)
	expect.Same(t, "what is not shown", 0, len(c.Refused)+len(c.Lacking))
}

// TestOddTemplates: a template that is none is an error of who decodes it, which ends the reading.
func TestOddTemplates(t *testing.T) {
	s := collected()
	s[setsPath] = `{"items": [{"metadata": {"name": "odd"}, "spec": {"template": "none"}}]}`
	err := s.collector(t).Workloads(t.Context(), func(w Workload) error {
		_, err := w.Decode()
		return err
	})
	expect.Says(t, "an odd template", err, "cannot unmarshal string")
}

// TestServiceOfDNS: a Service without a selector is there, and one that is a name of elsewhere has no pods here.
func TestServiceOfDNS(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"spec": {}}`: {}, `{"spec": {"type": "ExternalName", "selector": {"a": "b"}}}`: nil,
	} {
		s := collected()
		s[dnsPath] = text
		c := s.collector(t)
		expect.OK(t, c.Read(t.Context()))
		expect.Same(t, text, want, c.DNS)
	}
}

// TestNotShown: without some rights there are verdicts, and without others there are none. Any other failure ends the reading.
func TestNotShown(t *testing.T) {
	for path, want := range map[string]struct{ refused, lacking []string }{
		nodesPath: {nil, []string{"list nodes"}}, setsPath: {nil, []string{"list daemonsets"}},
		classesPath: {[]string{"RuntimeClasses"}, nil}, spacesPath: {[]string{"Namespaces"}, nil},
		dnsPath: {[]string{"Service kube-system/kube-dns"}, nil},
	} {
		read := func(answer string) (*Collector, error) {
			s := collected()
			s[path] = answer
			c := s.collector(t)
			err := c.Read(t.Context())
			if err == nil {
				err = c.Workloads(t.Context(), func(Workload) error { return nil })
			}
			return c, err
		}
		c, err := read("")
		expect.OK(t, err)
		expect.Same(t, "not shown at "+path, want.refused, c.Refused)
		expect.Same(t, "lacking at "+path, want.lacking, c.Lacking)
		if _, err := read("no JSON"); err == nil {
			t.Errorf("what cannot be read at %s is no error", path)
		}
	}
}

// TestManyNodes: labels and taints of Nodes take no more memory than the collector may have for them.
func TestManyNodes(t *testing.T) {
	s := collected()
	s[nodesPath] = `{"items": [{"metadata": {"name": "abcd", "labels": {"ab": "cd"}},
		"spec": {"taints": [{"key": "ab", "value": "cd"}]}}]}`
	for most, says := range map[int]string{12: "", 11: "the labels and taints of its Nodes have more than 0 KiB"} {
		c := s.collector(t)
		c.MostOfNodes = most
		err := c.Read(context.Background())
		expect.Says(t, "an error", err, says)
	}
}
