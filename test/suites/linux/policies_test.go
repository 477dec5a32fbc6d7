package linux_test

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// everywhere is what those tolerate who want to be on each Node, as NodeLocal DNSCache.
var everywhere = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}

// TestPolicies has a real API server of the pinned version ask the policies.
func TestPolicies(t *testing.T) {
	testMutating(t, startPoliced(t, pinned(t), true))
}

func testMutating(t *testing.T, p *policed) {
	t.Helper()
	before := p.beforePolicies()
	untouched := p.fleet()
	p.keep()
	p.rollsNothing(untouched)
	p.rewrites()
	p.keepsDNS()
	p.mendsAtChange(before)
	p.decides()
}

// TestPoliciesThatValidate does it on a server without the mutating kind, which stands for Kubernetes 1.30 to 1.35.
func TestPoliciesThatValidate(t *testing.T) {
	testValidating(t, withoutMutating(t, pinned(t)))
}

// policies.sh gives these for an API server of another version.
var (
	otherServers = flag.String("policies.servers", "", "the folder of a control plane's programs")
	otherVersion = flag.String("policies.version", "", "their version, such as v1.30.14")
)

// TestPoliciesOfVersion does what the two do, as far as the version goes, and has the controller manager look for wrong types.
func TestPoliciesOfVersion(t *testing.T) {
	if *otherServers == "" {
		t.Skip("make test-policies says with which programs")
	}
	mutates := expect.Got(version.ParseGeneric(*otherVersion))(t).AtLeast(version.MustParseGeneric("v1.36.0"))
	p := startPoliced(t, *otherServers, mutates)
	expect.Same(t, "version", *otherVersion, p.version)
	if mutates {
		testMutating(t, p)
	} else {
		testValidating(t, p)
	}
	p.typesFit()
}

// typesFit: the controller manager tells in the status of a policy what does not fit the schema of a kind.
func (p *policed) typesFit() {
	p.Helper()
	ctx, stop := context.WithCancel(p.ctx)
	manager := exec.CommandContext(ctx, filepath.Join(p.programs, "kube-controller-manager"), "--kubeconfig="+p.kubeconfig,
		"--controllers=validatingadmissionpolicy-status-controller", "--leader-elect=false", "--secure-port=0")
	expect.OK(p, manager.Start())
	p.Cleanup(func() { stop(); _ = manager.Wait() })
	wait.Eventually(p, "the types of all policies", func(ctx context.Context) error {
		var list admissionv1.ValidatingAdmissionPolicyList
		expect.OK(p, p.api.List(ctx, &list))
		for _, policy := range list.Items {
			if policy.Status.ObservedGeneration != policy.Generation || policy.Status.TypeChecking == nil {
				return fmt.Errorf("policy %s has the status %v", policy.Name, policy.Status)
			}
			if policy.Name == "broken" {
				continue
			}
			for _, one := range policy.Status.TypeChecking.ExpressionWarnings {
				p.Errorf("policy %s: %s: %s", policy.Name, one.FieldRef, one.Warning)
			}
		}
		p.Logf("the types of %d policies are checked", len(list.Items))
		return nil
	})
}

func testValidating(t *testing.T, p *policed) {
	t.Helper()
	bare := p.bareDNS()
	p.keep()
	p.warnsAtChange()
	p.refusesDNS()
	p.notDNS()
	p.upgradesBareDNS(bare)
	p.decides()
}

// decides tries what the policies of each server tell apart, and that no expression has failed.
func (p *policed) decides() {
	p.Helper()
	p.rows()
	p.published()
	p.hostileTemplates()
	p.windowsPods()
	p.randomTemplates()
	p.noErrors()
}

// TestPoliciesWithGateOff: an API server that takes mutating policies and asks none is found out, also when it has long asked the
// validating ones, which came later.
func TestPoliciesWithGateOff(t *testing.T) {
	p := gateOff(t, pinned(t))
	for _, object := range policies.Mutating() {
		p.write(object)
	}
	p.keep()
	p.row(toLinux[0], workload("DaemonSet", metav1.NamespaceSystem, "any", corev1.PodSpec{}), true)
}

// agent is a DaemonSet that tolerates everything and selects nothing, as a file.
const agent = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: agents}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: "registry.k8s.io/pause:3.10"}]
`

// rewrites: whoever writes his file again changes nothing, and sees no difference.
func (p *policed) rewrites() {
	p.Helper()
	p.run(agent, "apply", "-f", "-")
	p.agentIs("agent", 1, "after it was made")
	for _, args := range [][]string{
		{"apply", "-f", "-"},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=flux", "-f", "-"},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=flux", "-f", "-"},
		{"replace", "-f", "-"},
	} {
		out := p.run(agent, args...)
		p.agentIs("agent", 1, "after kubectl "+strings.Join(args, " "))
		if args[0] == "apply" && len(args) == 3 && !strings.Contains(out, "unchanged") {
			p.Errorf("kubectl apply says %s", out)
		}
	}
	for _, args := range [][]string{
		{"diff", "-f", "-"}, {"diff", "--server-side", "--force-conflicts", "--field-manager=flux", "-f", "-"},
	} {
		if out, err := p.kubectl(agent, args...); err != nil || out != "" {
			p.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// agentIs: the agent selects Linux.
func (p *policed) agentIs(name string, generation int64, when string) {
	p.Helper()
	var set appsv1.DaemonSet
	expect.OK(p, p.api.Get(p.ctx, client.ObjectKey{Namespace: agents, Name: name}, &set))
	expect.Same(p, "generation "+when, generation, set.Generation)
	expect.Same(p, "selector "+when, map[string]string{corev1.LabelOSStable: "linux"}, set.Spec.Template.Spec.NodeSelector)
}

// keepsDNS: nobody takes the selector from CoreDNS, neither by accident.
func (p *policed) keepsDNS() {
	p.Helper()
	manifest := p.manifestOfDNS()
	p.run(manifest, "create", "-f", "-")
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "coredns"}
	without := strings.Replace(manifest, "      nodeSelector:\n        kubernetes.io/os: linux\n", "", 1)
	if without == manifest {
		p.Fatalf("kubeadm's CoreDNS has no selector of Linux:\n%s", manifest)
	}
	whole := &appsv1.Deployment{}
	expect.OK(p, p.api.Get(p.ctx, key, whole))
	dns := []string{"deployment/coredns", "-n", "kube-system"}
	for _, c := range []struct {
		input      string
		args       []string
		generation int64
	}{
		{"", []string{"patch", "--type=json", `-p=[{"op": "remove", "path": "/spec/template/spec/nodeSelector"}]`}, 1},
		{"", []string{
			"patch", "--type=json", `-p=[{"op": "remove", "path": "/spec/template/spec/nodeSelector/kubernetes.io~1os"}]`,
		}, 1},
		{"", []string{"patch", "--type=merge", `-p={"spec": {"template": {"spec": {"nodeSelector": null}}}}`}, 1},
		{without, []string{"replace", "-f", "-"}, 1},
		{without, []string{"apply", "--server-side", "--force-conflicts", "--field-manager=flux", "-f", "-"}, 1},
		// It notes in an annotation what it applied. A Deployment has another generation for that, its template is the same.
		{without, []string{"apply", "-f", "-"}, 2},
		{manifest, []string{"apply", "-f", "-"}, 3},
	} {
		args, when := c.args, "after kubectl "+strings.Join(c.args, " ")
		if c.input == "" {
			args = append(args, dns...)
		}
		p.run(c.input, args...)
		now := &appsv1.Deployment{}
		expect.OK(p, p.api.Get(p.ctx, key, now))
		expect.Same(p, "generation "+when, c.generation, now.Generation)
		expect.Same(p, "template "+when, whole.Spec.Template, now.Spec.Template)
	}
	if out, err := p.kubectl(manifest, "diff", "-f", "-"); err != nil || out != "" {
		p.Errorf("kubectl diff of CoreDNS: %v\n%s", err, out)
	}
}

// beforePolicies makes what is there before the policies: agents, one of which pods run on Windows, and CoreDNS without a
// selector. Each is written by its own act.
func (p *policed) beforePolicies() []client.Object {
	p.Helper()
	pod := corev1.PodSpec{Tolerations: everywhere}
	made := []client.Object{
		workload("DaemonSet", agents, "labelled", *pod.DeepCopy()), workload("DaemonSet", agents, "annotated", *pod.DeepCopy()),
		workload("StatefulSet", agents, "scaled", *pod.DeepCopy()), workload("DaemonSet", agents, "both", *pod.DeepCopy()),
		p.bareDNS(),
	}
	made[3].SetAnnotations(map[string]string{"capwin.io/runs-on": "both"})
	for _, object := range made[:4] {
		expect.OK(p, p.api.Create(p.ctx, object))
	}
	return made
}

// mendsAtChange: what is there already stays as it is until somebody changes its template, which rolls it anyway.
func (p *policed) mendsAtChange(before []client.Object) {
	p.Helper()
	none, linux := map[string]string(nil), map[string]string{corev1.LabelOSStable: "linux"}
	for _, object := range before {
		p.is(object, 1, object.DeepCopyObject().(client.Object), none)
	}
	for _, c := range []struct {
		object     client.Object
		kind, act  string
		generation int64
		selector   map[string]string
	}{
		{before[0], "daemonset", "label NAME touched=yes", 1, none},
		{before[0], "daemonset", "rollout restart NAME", 2, linux},
		{before[1], "daemonset", "annotate NAME touched=yes", 1, none},
		{before[1], "daemonset", "set image NAME main=registry.k8s.io/pause:3.9", 2, linux},
		{before[1], "daemonset", `patch NAME --type=merge -p={"spec":{"template":{"spec":{"nodeSelector":null}}}}`, 2, linux},
		{before[2], "statefulset", "scale NAME --replicas=2", 2, none}, // by a subresource, which no policy of ours sees
		{before[2], "statefulset", `patch NAME --type=merge -p={"spec":{"replicas":3}}`, 3, none},
		{before[2], "statefulset", "rollout restart NAME", 4, linux},
		{before[3], "daemonset", "set image NAME main=registry.k8s.io/pause:3.9", 2, none},
		{before[3], "daemonset", "annotate NAME capwin.io/runs-on-", 2, none},
		{before[3], "daemonset", "rollout restart NAME", 3, linux},
		{before[3], "daemonset", "annotate NAME capwin.io/runs-on=both", 3, linux},
		{
			before[3], "daemonset",
			`patch NAME --type=merge -p={"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":null}}}}}`, 4, none,
		},
	} {
		args := strings.Fields(strings.Replace(c.act, "NAME", c.kind+"/"+c.object.GetName(), 1))
		p.run("", append(args, "-n", agents)...)
		p.is(c.object, c.generation, c.object.DeepCopyObject().(client.Object), c.selector)
	}
	upgraded := p.upgrade(before[4].(*appsv1.Deployment))
	expect.Same(p, "CoreDNS after the upgrade", linux, upgraded.Spec.Template.Spec.NodeSelector)
}

// warnsAtChange: who changes a template is warned of what it selects, and who writes a label is not.
func (p *policed) warnsAtChange() {
	p.Helper()
	set := workload("DaemonSet", agents, "warned", corev1.PodSpec{Tolerations: everywhere}).(*appsv1.DaemonSet)
	expect.OK(p, p.api.Create(p.ctx, set))
	for _, c := range []struct {
		name   string
		change func()
		warned bool
	}{
		{"a label", func() { set.Labels = map[string]string{"touched": "yes"} }, false},
		{"another image", func() { set.Spec.Template.Spec.Containers[0].Image = "registry.k8s.io/pause:3.9" }, true},
		{"an annotation", func() { set.Annotations = map[string]string{"touched": "yes"} }, false},
	} {
		p.warnings.take()
		c.change()
		expect.OK(p, p.api.Update(p.ctx, set))
		if warned := p.warnings.take(); wantsLinux(warned) != c.warned {
			p.Errorf("who writes %s is warned of %v", c.name, warned)
		}
	}
}

func (p *policed) is(object client.Object, generation int64, now client.Object, selector map[string]string) {
	p.Helper()
	expect.OK(p, p.api.Get(p.ctx, client.ObjectKeyFromObject(object), now))
	expect.Same(p, "generation of "+object.GetName(), generation, now.GetGeneration())
	expect.Same(p, "selector of "+object.GetName(), selector, template(now).Spec.NodeSelector)
}
