package charts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Calico's repository, with the stand-ins of its charts.
const (
	calico       = "https://docs.tigera.io/calico/charts"
	calicoCharts = "../frontdoor/testdata/charts"
)

// soon is how long the chart of Calico's operator may come after that of its kinds.
const soon = 30 * time.Second

// Cases of what follows: how often a release was tried while there was no API server. The add-on provider doubles its wait with
// each try that fails, from 5 ms up to 1000 s, so that 5 minutes are 16 tries.
const tries = 20

// comesAfterItsKinds: the charts of Calico as a flavor has them, in a Cluster whose control plane was long in coming. The
// operator's chart has objects of the kinds of the other one. Once those are there it is installed soon, and not when a wait of
// many minutes ends that is left from before there was a control plane.
func comesAfterItsKinds(t *testing.T, m *servers.Management, w *servers.Workload) {
	t.Helper()
	late := types.NamespacedName{Namespace: demo.Namespace, Name: "late"}
	expect.OK(t, servers.JoinAsCluster(t.Context(), m, w, servers.JoinOptions{Namespace: late.Namespace, Name: late.Name}))
	api := clientFor(t, m)
	cluster := &clusterv1.Cluster{}
	expect.OK(t, api.Get(t.Context(), late, cluster))
	before := cluster.DeepCopy()
	cluster.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": late.Name, "capwin.io/cloud": "vsphere"}
	expect.OK(t, api.Patch(t.Context(), cluster, client.MergeFrom(before)))
	kinds, operator := calicoOf(t, late)
	expect.OK(t, api.Create(t.Context(), operator))
	wait.Eventually(t, "the operator's chart to be looked at", func(ctx context.Context) error {
		said, err := ready(ctx, api, operator)
		if err == nil && said == "not ready: " {
			err = errors.New("there is no condition")
		}
		return err
	})
	tryOften(t, m, operator)
	oneMoreFails(t, m, func() { expect.OK(t, servers.MarkInitialized(t.Context(), m, late)) })

	expect.OK(t, api.Create(t.Context(), kinds))
	installed := func(proxy *unstructured.Unstructured) time.Time {
		wait.Eventually(t, proxy.GetName()+" to be installed", func(ctx context.Context) error {
			said, err := ready(ctx, api, proxy)
			if err == nil && said != "" {
				err = errors.New(said)
			}
			return err
		})
		return time.Now()
	}
	begin := installed(kinds)
	if took := installed(operator).Sub(begin); took > soon {
		t.Errorf("the chart of Calico's operator is installed %s after its kinds, which is more than %s", took, soon)
	} else {
		t.Logf("the chart of Calico's operator is installed %s after its kinds", took.Round(time.Millisecond))
	}
}

// tryOften has the add-on provider try a chart again and again, if it tries it by now.
func tryOften(t *testing.T, m *servers.Management, proxy *unstructured.Unstructured) {
	t.Helper()
	api := clientFor(t, m)
	for i := range tries {
		for _, one := range releasesOf(t, api, proxy) {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/try":"%d"}}}`, i)
			oneMoreFails(t, m, func() {
				expect.OK(t, api.Patch(t.Context(), &one, client.RawPatch(types.MergePatchType, patch)))
			})
		}
	}
}

// oneMoreFails does what has the add-on provider try the chart once more, and waits until that has failed.
func oneMoreFails(t *testing.T, m *servers.Management, do func()) {
	t.Helper()
	failed := func() int { return len(missesKinds.FindAllString(expect.Got(m.CAAPHPrinted())(t), -1)) }
	before := failed()
	do()
	wait.Eventually(t, "one more try to fail", func(context.Context) error {
		if failed() == before {
			return fmt.Errorf("%d have failed", before)
		}
		return nil
	})
}

// missesKinds is what is printed at the end of a try for which kinds are not there.
var missesKinds = regexp.MustCompile(`"Reconciler error" err=<\s+unable to build [^>]* no matches for kind "Installation"`)

func releasesOf(t *testing.T, api client.Client, proxy *unstructured.Unstructured) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(servers.HelmChartProxy.GroupVersion().String())
	list.SetKind("HelmReleaseProxyList")
	labels := client.MatchingLabels{"helmreleaseproxy.addons.cluster.x-k8s.io/helmchartproxy-name": proxy.GetName()}
	expect.OK(t, api.List(t.Context(), list, client.InNamespace(proxy.GetNamespace()), labels))
	return list.Items
}

// calicoOf are the charts of a flavor's Calico for a Cluster: that of the kinds, and that of the operator.
func calicoOf(t *testing.T, cluster types.NamespacedName) (kinds, operator *unstructured.Unstructured) {
	t.Helper()
	raw := expect.Got(os.ReadFile(filepath.Join("..", "..", "..", "templates", "cluster-template-windows.yaml")))(t)
	text := expect.Got(yamlprocessor.NewSimpleProcessor().Process(raw, func(variable string) (string, error) {
		return map[string]string{"CLUSTER_NAME": cluster.Name, "NAMESPACE": cluster.Namespace}[variable], nil
	}))(t)
	found := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(document, "\nkind: HelmChartProxy\n") {
			object := &unstructured.Unstructured{}
			expect.OK(t, yaml.Unmarshal([]byte(document), &object.Object))
			found[object.GetName()] = object
		}
	}
	kinds, operator = found[cluster.Name+"-calico-crds"], found[cluster.Name+"-calico"]
	if kinds == nil || operator == nil {
		t.Fatalf("the flavor has not both charts of Calico: %v", found)
	}
	return kinds, operator
}
