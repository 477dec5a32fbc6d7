package lab_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

var everyFault = flag.Bool("smoke.all", false, "provoke every fault that clusterctl windows smoke has a sentence for")

// smokeCase is one fault, and what the program says of it.
type smokeCase struct {
	name, reason string
	// always says that it is short and among the first that users meet.
	always bool
	args   []string
	// breaks lacks something, by the name of a pod; NODE is the Windows node.
	breaks map[string]traffic.Faults
	// spoil does something else, and returns what mends it.
	spoil func(t *testing.T, s *smoked) (mend func())
	// failed are the checks that fail, with parts of their sentences.
	failed map[string][]string
	// err is for what is refused before anything is made: its beginning, and what else it says.
	err, says string
}

const (
	needsKubeProxy = "Kube-proxy does not work on this node"
	needsPath      = "Packets of pods do not pass between this node and the Linux nodes"
	needsPort      = "The API server must reach TCP 10250 of the node"
	needsApprover  = "kubectl get csr shows its request to kubernetes.io/kubelet-serving"
	needsLog       = "The kubelet answers, but does not carry it out: its log"
)

var smokeCases = []smokeCase{
	{
		name: "no kube-proxy on the node", reason: "nothing that is a Service works, names neither",
		breaks: map[string]traffic.Faults{"NODE": {NoKubeProxy: true}},
		failed: map[string][]string{
			"Linux pod to NodePort of Windows node":  {"TIMEOUT, 3 attempts", needsKubeProxy},
			"Windows host to Service of Windows pod": {"curl: (28)", needsKubeProxy},
			"Windows pod to Service of Linux pod":    {"TIMEOUT", needsKubeProxy},
			"Windows pod to name of a Service":       {"DNS: lookup linux-server", `Mend "Windows pod to Service of Linux pod" first`},
			"Windows pod outwards":                   {"DNS: lookup registry.k8s.io", `Mend "Windows pod to name of a Service" first`},
		},
	},
	{
		name: "no such image", reason: "a typing error is told at once", always: true, args: []string{"--tag", "9.9"},
		spoil: func(_ *testing.T, s *smoked) func() {
			s.network.Images.Remove("agnhost:9.9")
			return func() { s.network.Images.Remove("") }
		},
		failed: map[string][]string{
			"Linux pod":   {"agnhost:9.9: not found", "This image does not exist: set --registry and --tag"},
			"Windows pod": {"the pod windows-server-0 does not run: ", "agnhost:9.9: not found"},
		},
	},
	{
		name: "all nodes cordoned", reason: "nothing is made", always: true,
		err: "no Windows Node takes pods: all 1 are cordoned: kubectl uncordon ",
		spoil: func(t *testing.T, s *smoked) func() {
			s.cordon(t, s.node, true)
			return func() { s.cordon(t, s.node, false) }
		},
	},
	{
		name: "no build", reason: "the registry's copy lacks platforms",
		args: []string{"--registry", "mirror.example.com", "--outwards", "none"},
		spoil: func(_ *testing.T, s *smoked) func() {
			s.network.Images.Limit("mirror.example.com/agnhost", "linux/amd64", "linux/arm64", "windows/10.0.17763")
			return func() {}
		},
		failed: map[string][]string{
			"Windows pod": {"no match for platform in manifest", "copy the image with all of its platforms into the registry"},
		},
	},
	{
		name: "no way between nodes", reason: "Services of the other system are behind it, too",
		breaks: map[string]traffic.Faults{"NODE": {NoPeers: true}}, args: []string{"--outwards", "1.1.1.1:443"},
		failed: map[string][]string{
			"Linux pod to Windows pod":            {"TIMEOUT, 3 attempts", needsPath},
			"Linux pod to Service of Windows pod": {`Mend "Linux pod to Windows pod" first`},
			"Windows pod to Linux pod":            {"TIMEOUT, 3 attempts", needsPath},
			"Windows pod to Service of Linux pod": {`Mend "Windows pod to Linux pod" first`},
			"Windows pod to name of a Service":    {`Mend "Windows pod to Service of Linux pod" first`},
		},
	},
	{
		name: "no kube-proxy on Linux", reason: "the pod is reached, its Service is not",
		breaks: map[string]traffic.Faults{"linux-client-0": {NoKubeProxy: true}},
		failed: map[string][]string{
			"Linux pod to Service of Windows pod":   {"TIMEOUT", "Kube-proxy of the Linux node does not work"},
			"Linux pod to NodePort of Windows node": {"TIMEOUT", "keeps TCP 30000-32767 from the node"},
		},
	},
	{
		name: "no DNS", reason: "the Service is reached by its address", args: []string{"--outwards", "1.1.1.1:443"},
		breaks: map[string]traffic.Faults{"windows-client-0": {NoDNS: true}},
		failed: map[string][]string{
			"Windows pod to name of a Service": {"DNS: lookup linux-server", "The cluster's DNS does not answer this node's pods"},
		},
	},
	{
		name: "no way out", reason: "the CNI does not translate addresses",
		breaks: map[string]traffic.Faults{"windows-client-0": {NoOutside: true}},
		failed: map[string][]string{"Windows pod outwards": {"registry.k8s.io:443: TIMEOUT", "Pods get no answer from outside"}},
	},
	{
		name: "an unknown name", reason: "DNS works, but nobody knows it", args: []string{"--outwards", "nowhere.example.com:443"},
		failed: map[string][]string{"Windows pod outwards": {"no such host", "No DNS server of the cluster has this name"}},
	},
	{
		name: "the kubelet is not reached", reason: "pods work all the same", always: true,
		breaks: map[string]traffic.Faults{"NODE": {KubeletClosed: true}},
		failed: map[string][]string{
			"exec in the Windows pod": {needsPort}, "logs of the Windows pod": {needsPort}, "metrics of the Windows node": {needsPort},
		},
	},
	{
		name: "no exec", reason: "the kubelet cannot", breaks: map[string]traffic.Faults{"NODE": {ExecRefused: true}},
		failed: map[string][]string{"exec in the Windows pod": {needsLog}},
	},
	{
		name: "no logs", reason: "the kubelet cannot", breaks: map[string]traffic.Faults{"NODE": {LogsRefused: true}},
		failed: map[string][]string{"logs of the Windows pod": {needsLog}},
	},
	{
		name: "no metrics", reason: "the kubelet cannot", breaks: map[string]traffic.Faults{"NODE": {StatsRefused: true}},
		failed: map[string][]string{"metrics of the Windows node": {needsLog}},
	},
	{
		name: "a taint of others", reason: "the scheduler says which", args: []string{"--timeout", "6s"},
		spoil: func(t *testing.T, s *smoked) func() {
			before := s.taint(t, s.node, corev1.Taint{Key: "example.com/reserved", Effect: corev1.TaintEffectNoSchedule})
			return func() { s.taint(t, s.node, before...) }
		},
		failed: map[string][]string{"Windows pod": {"untolerated taint", "Pods of this command tolerate os=windows:NoSchedule alone"}},
	},
	{
		name: "a policy against pods", reason: "what the API server says is told", spoil: forbidPods,
		failed: map[string][]string{
			"Linux pod":   {"no pods of strangers", "A policy or a quota of the cluster keeps pods of this command out"},
			"Windows pod": {"no pods of strangers"},
		},
	},
	{
		name: "no plug-in", reason: "the image lacks a program", args: []string{"--timeout", "6s"},
		spoil: func(t *testing.T, s *smoked) func() { return s.hide(t, "opt", "cni", "bin") },
		failed: map[string][]string{
			"Windows pod": {"failed to find plugin", "A program of the CNI is missing in C:\\opt\\cni\\bin"},
		},
	},
	{
		name: "no CNI", reason: "a new Node is not Ready until one runs",
		err: "no Windows Node takes pods: ",
		spoil: func(t *testing.T, s *smoked) func() {
			mend := s.hide(t, "etc", "cni", "net.d")
			s.awaitReady(t, corev1.ConditionFalse)
			return func() { mend(); s.awaitReady(t, corev1.ConditionTrue) }
		},
		says: "cni plugin not initialized): the CNI does not run there yet, see docs/networks.md, \"What you apply\"",
	},
	{
		name: "a node that is not there", reason: "names are typed", args: []string{"--node", "nobody"},
		err: "--node nobody: there is no Windows Node of this name; there are ",
	},
}

// fault runs the program with one fault: what has to fail does, with its sentence, and all else holds.
func (s *smoked) fault(t *testing.T, c smokeCase) {
	for name, faults := range c.breaks {
		name = strings.Replace(name, "NODE", s.node, 1)
		s.network.Break(name, faults)
		t.Cleanup(func() { s.network.Break(name, traffic.Faults{}) })
	}
	if c.spoil != nil {
		defer c.spoil(t, s)()
	}
	got := s.smoke(t, c.args...)
	defer s.goes(t)
	if c.err != "" {
		if got.code != 1 || !strings.HasPrefix(got.err, c.err) || !strings.Contains(got.err, c.says) || len(got.found.Items) > 0 {
			t.Errorf("%s: got %+v, want %q", c.reason, got, c.err)
		}
		return
	}
	if got.code != 1 || !strings.HasSuffix(got.err, "see what failed above\n") {
		t.Errorf("%s: exit code %d: %s", c.reason, got.code, got.err)
	}
	failed := 0
	for _, f := range got.found.Items {
		want, fails := c.failed[f.Check]
		if fails {
			failed++
			t.Logf("%s: %s", f.Check, f.Message)
		}
		matches := !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(f.Message, part) })
		if fails != (f.Result == cloud.CheckFailed) || !matches {
			t.Errorf("%s: %s is %s: %s; want %q", c.reason, f.Check, f.Result, f.Message, want)
		}
	}
	if failed != len(c.failed) {
		t.Errorf("%s: %d of %d checks are there", c.reason, failed, len(c.failed))
	}
}

// hide takes a folder from the disk C: of the Windows node, until it is mended.
func (s *smoked) hide(t *testing.T, folder ...string) (mend func()) {
	t.Helper()
	path := filepath.Join(append([]string{s.cell.guest.Dir, "C"}, folder...)...)
	expect.OK(t, os.Rename(path, path+".away"))
	return func() {
		expect.OK(t, os.RemoveAll(path)) // which somebody may have made anew
		expect.OK(t, os.Rename(path+".away", path))
	}
}

func (s *smoked) awaitReady(t *testing.T, want corev1.ConditionStatus) {
	t.Helper()
	wait.Until(t, "the Node to be Ready: "+string(want), func() (any, bool) {
		node := expect.Got(s.client.CoreV1().Nodes().Get(t.Context(), s.node, metav1.GetOptions{}))(t)
		return node.Status.Conditions, slices.ContainsFunc(node.Status.Conditions, func(is corev1.NodeCondition) bool {
			return is.Type == corev1.NodeReady && is.Status == want
		})
	})
}

// unsigned: pods reach each other, but the API server does not reach a kubelet whose request nobody has approved. Then it is.
func (s *smoked) unsigned(t *testing.T) {
	s.fault(t, smokeCase{reason: "a pool with serverCertificates and no approver", failed: map[string][]string{
		"exec in the Windows pod": {needsApprover}, "logs of the Windows pod": {needsApprover},
		"metrics of the Windows node": {needsApprover},
	}})
	requests := s.client.CertificatesV1().CertificateSigningRequests()
	approved := 0
	for _, one := range expect.Got(requests.List(t.Context(), metav1.ListOptions{}))(t).Items {
		if one.Spec.SignerName == certificatesv1.KubeletServingSignerName {
			approved++
			one.Status.Conditions = append(one.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
			})
			expect.Got(requests.UpdateApproval(t.Context(), one.Name, &one, metav1.UpdateOptions{}))(t)
		}
	}
	if approved != 1 {
		t.Fatalf("there are %d requests for certificates of kubelets' ports", approved)
	}
	wait.Eventually(t, "metrics of the node", func(context.Context) error {
		_, err := s.stats(t, s.node)
		return err
	})
}

// forbidPods is a policy as clusters have it that let none in but their own.
func forbidPods(t *testing.T, s *smoked) func() {
	t.Helper()
	api := s.client.AdmissionregistrationV1()
	creations := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}
	const name = "smoke-no-strangers"
	expect.Got(api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: labelSmoke, Operator: metav1.LabelSelectorOpExists},
				}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: creations}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no pods of strangers"}},
		},
	}, metav1.CreateOptions{}))(t)
	expect.Got(api.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{}))(t)
	s.awaitPolicy(t, true)
	return func() {
		expect.Fine(t, api.ValidatingAdmissionPolicyBindings().Delete(t.Context(), name, metav1.DeleteOptions{}))
		expect.Fine(t, api.ValidatingAdmissionPolicies().Delete(t.Context(), name, metav1.DeleteOptions{}))
		s.awaitPolicy(t, false)
	}
}

// awaitPolicy waits until the API server knows of the policy, or has forgotten it.
func (s *smoked) awaitPolicy(t *testing.T, there bool) {
	t.Helper()
	strangers := expect.Got(s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "strangers-", Labels: map[string]string{labelSmoke: ""},
	}}, metav1.CreateOptions{}))(t)
	wait.Until(t, "the policy to count, or to count no more", func() (any, bool) {
		_, err := s.client.CoreV1().Pods(strangers.Name).Create(t.Context(), s.pod("linux", container("try", "pause")),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err, there == (err != nil && strings.Contains(err.Error(), "no pods of strangers"))
	})
	expect.OK(t, s.client.CoreV1().Namespaces().Delete(t.Context(), strangers.Name, metav1.DeleteOptions{}))
}
