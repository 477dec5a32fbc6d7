package linux

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// cluster has a tainted Windows Node, and a DaemonSet that lands there.
func cluster(version string) Cluster {
	var c Cluster
	c.Version = version
	c.Windows = []placement.Node{{
		Name: "win-0", Labels: map[string]string{corev1.LabelOSStable: "windows"},
		Taints: []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}},
	}}
	c.Kubelets = map[string]string{"win-0": version}
	agent := placement.Workload{Kind: "DaemonSet", Namespace: "team", Name: "agent"}
	agent.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	c.Workloads = []placement.Workload{{Kind: "Deployment", Namespace: "team", Name: "a"}, agent}
	return c
}

func of(t *testing.T, c Cluster, check string) report.Finding {
	t.Helper()
	for _, one := range Report(c).Items {
		if one.Check == check {
			return one
		}
	}
	return report.Finding{}
}

func names(objects []*unstructured.Unstructured) (all []string) {
	for _, o := range objects {
		all = append(all, o.GetKind()+" "+o.GetName())
	}
	return all
}

// TestPolicies: what is said of the policies follows from the version, and from what is there of them. Only where they will come
// to change workloads, that is told beforehand.
func TestPolicies(t *testing.T) {
	validating, mutating := names(policies.Validating()), names(policies.Mutating())
	all := slices.Concat(validating, mutating)
	acting := Policies{ServesValidating: true, ServesMutating: true, Present: all, Tried: true, Refuses: true, Changes: true}
	for name, c := range map[string]struct {
		version string
		have    Policies
		want    cloud.Result
		says    string
		next    cloud.Result
	}{
		"of 1.29": {
			"v1.29.1", Policies{}, cloud.CheckWarning, "which come with Kubernetes 1.30: what is wrong is reported, and not prevented", "",
		},
		"of 1.30, not there": {
			"v1.30.1", Policies{ServesValidating: true}, cloud.CheckWarning, "not all policies that keep pods on Linux exist", "",
		},
		"of 1.30": {
			"v1.30.1", Policies{ServesValidating: true, Present: validating}, cloud.CheckWarning, "which come with Kubernetes 1.36", "",
		},
		"of 1.36, one is not there": {
			"v1.36.3",
			Policies{ServesValidating: true, ServesMutating: true, Present: validating[1:]},
			cloud.CheckWarning,
			"capwin.io/linux-policy: off", cloud.CheckWarning,
		},
		"of 1.36, the mutating one is not there": {
			"v1.36.3",
			Policies{ServesValidating: true, ServesMutating: true, Present: validating, Tried: true, Refuses: true},
			cloud.CheckWarning,
			"keeps cluster DNS on Linux; the policy that selects Linux in the templates of workloads does not exist", cloud.CheckWarning,
		},
		"of 1.36": {"v1.36.3", acting, cloud.CheckOK, "and selects Linux in new and changed templates", cloud.CheckOK},
		"of 1.36, not tried": {
			"v1.36.3",
			Policies{ServesValidating: true, ServesMutating: true, Present: all},
			cloud.CheckWarning, "the policies exist; whether they act was not tried", cloud.CheckOK,
		},
		"of 1.36, the gate is off": {
			"v1.36.3",
			Policies{ServesValidating: true, ServesMutating: true, Present: all, Tried: true, Refuses: true},
			cloud.CheckWarning, "its feature gate or its admission plug-in MutatingAdmissionPolicy is switched off", "",
		},
		"of 1.36, somebody else's": {
			"v1.36.3",
			Policies{ServesValidating: true, ServesMutating: true, Present: all, Tried: true, Changes: true},
			cloud.CheckWarning, "the API server does not enforce them", cloud.CheckOK,
		},
		"of 1.30, tried": {
			"v1.30.1",
			Policies{ServesValidating: true, Present: validating, Tried: true, Refuses: true},
			cloud.CheckWarning, "the API server keeps cluster DNS on Linux; of other pods", "",
		},
		"not shown": {"v1.36.3", Policies{Hidden: true}, cloud.CheckSkipped, "may not list them", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := cluster(c.version)
			cluster.Policies = c.have
			got := of(t, cluster, "policies")
			if got.Result != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("%+v", got)
			}
			expect.Same(t, "next changes", c.next, of(t, cluster, "next changes").Result)
		})
	}
}

// TestWorkloadsAreSorted: what lands comes before what does not, and only that fails.
func TestWorkloadsAreSorted(t *testing.T) {
	list := Report(cluster("v1.30.1"))
	last := list.Items[len(list.Items)-2:]
	expect.Same(t, "order", []string{"DaemonSet team/agent", "Deployment team/a"}, []string{last[0].Check, last[1].Check})
	expect.Same(t, "failed", true, list.Failed())
	fine := cluster("v1.30.1")
	fine.Workloads = fine.Workloads[:1]
	expect.Same(t, "failed without what lands", false, Report(fine).Failed())
}

// TestKubeProxyOfCluster: what a Node's config wants is known from the management cluster only.
func TestKubeProxyOfCluster(t *testing.T) {
	c := cluster("v1.36.3")
	expect.Same(t, "nobody knows", cloud.CheckWarning, of(t, c, kubeProxy).Result)
	c.ProxyRuns = map[string]bootstrapv1.KubeProxyRun{"win-0": bootstrapv1.KubeProxyNone}
	expect.Same(t, "none is wanted", cloud.CheckOK, of(t, c, kubeProxy).Result)
	c.ProxyRuns["win-0"], c.Joining = bootstrapv1.KubeProxyDaemonSet, 1
	expect.Same(t, "one is missing", cloud.CheckFailed, of(t, c, kubeProxy).Result)
	const says = "1 on Windows, 0 on Linux; the API server is v1.36.3; 1 more will join as Windows machines of the Cluster"
	expect.Same(t, "Nodes", says, of(t, c, "Nodes").Message)
}
