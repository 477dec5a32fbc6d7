package linux_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// agents is a namespace of somebody who has heard nothing of Windows.
const agents = "agents"

// policed is an API server with our policies, and nothing that runs pods.
type policed struct {
	*testing.T

	ctx      context.Context //nolint:containedctx // because it is the test's own
	api      client.Client
	warnings *warnings
	// mutates says that the server has the mutating kind.
	mutates bool

	programs, kubeconfig, version string
}

// patient is an environment of these programs that a busy machine may take its time to start and to end.
func patient(programs string) *envtest.Environment {
	return &envtest.Environment{
		BinaryAssetsDirectory: programs, ControlPlaneStartTimeout: wait.Patience, ControlPlaneStopTimeout: wait.Patience,
	}
}

// startPoliced starts an API server of these programs, which has or has not the mutating kind.
func startPoliced(t *testing.T, programs string, mutates bool) *policed {
	t.Helper()
	return connect(t, patient(programs), mutates)
}

// gateOff starts one that has the mutating kind, and asks no such policy.
func gateOff(t *testing.T, programs string) *policed {
	t.Helper()
	environment := patient(programs)
	environment.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "MutatingAdmissionPolicy=false")
	return connect(t, environment, false)
}

// withoutMutating starts one of a version that has the mutating kind, and takes it away.
func withoutMutating(t *testing.T, programs string) *policed {
	t.Helper()
	environment := patient(programs)
	const kind = "admissionregistration.k8s.io/v1/mutatingadmissionpol"
	environment.ControlPlane.GetAPIServer().Configure().
		Append("runtime-config", kind+"icies=false", kind+"icybindings=false").
		Append("disable-admission-plugins", "MutatingAdmissionPolicy")
	return connect(t, environment, false)
}

func connect(t *testing.T, environment *envtest.Environment, mutates bool) *policed {
	t.Helper()
	config := expect.Got(environment.Start())(t)
	expect.OK(t, servers.NoteStart("kube-apiserver"))
	t.Cleanup(func() { expect.Fine(t, environment.Stop()) })
	programs := environment.BinaryAssetsDirectory
	p := &policed{
		T: t, ctx: t.Context(), mutates: mutates, programs: programs, warnings: &warnings{},
		kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
	}
	expect.OK(t, os.WriteFile(p.kubeconfig, environment.KubeConfig, 0o600))
	config.QPS, config.WarningHandlerWithContext = -1, p.warnings
	p.api = expect.Got(client.New(config, client.Options{}))(t)
	p.version = expect.Got(kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion())(t).GitVersion
	t.Logf("kube-apiserver %s, with MutatingAdmissionPolicy: %t", p.version, mutates)
	expect.OK(t, p.api.Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agents}}))
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "windows-2022"}, Handler: "runhcs-wcow-process"}
	expect.OK(t, p.api.Create(p.ctx, class))
	return p
}

// pinned are the programs of the version that all tests have.
func pinned(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
	return expect.Got(servers.Ensure(t.Context(), os.Stderr))(t).Dir
}

// keep writes the policies, and waits until the server asks all of them.
func (p *policed) keep() {
	p.Helper()
	for _, object := range p.objects() {
		p.write(object)
	}
	wait.Eventually(p, "answers of the probes", func(ctx context.Context) error {
		if err := p.api.Create(ctx, policies.ProbeValidating(), client.DryRunAll); !policies.IsRefusal(err) {
			return fmt.Errorf("the answer to the validating probe is %w", errors.Join(errors.New("no refusal"), err))
		}
		probe := policies.ProbeMutating()
		if err := p.api.Create(ctx, probe, client.DryRunAll); err != nil || policies.IsMutated(probe) != p.mutates {
			return fmt.Errorf("the mutating probe is %v: %w", probe.Data, errors.Join(errors.New("another answer"), err))
		}
		return nil
	})
	wait.Eventually(p, "the policy that warns of what it does not change", func(ctx context.Context) error {
		got, warned := p.try(ctx, workload("DaemonSet", metav1.NamespaceSystem, "any", corev1.PodSpec{}))
		if !p.wants(got, warned) {
			return errors.New("what selects nothing is not wanted on Linux")
		}
		return nil
	})
	wait.Eventually(p, "the policy that is written last", func(ctx context.Context) error {
		pod := corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelOSStable: "windows"}}
		if _, warned := p.try(ctx, workload("DaemonSet", agents, "last", pod)); len(warned) == 0 {
			return errors.New("no warning of a pod for Windows")
		}
		return nil
	})
}

func (p *policed) write(object *unstructured.Unstructured) {
	p.Helper()
	wanted := client.ApplyConfigurationFromUnstructured(object)
	expect.OK(p, p.api.Apply(p.ctx, wanted, client.ForceOwnership, client.FieldOwner("capwin")))
}

// objects are those that the server has the kinds of.
func (p *policed) objects() []*unstructured.Unstructured {
	if p.mutates {
		return append(policies.Validating(), policies.Mutating()...)
	}
	return policies.Validating()
}

// wants says whether the policies want a workload on Linux: a server that mutates has made it so, another one warns.
func (p *policed) wants(got client.Object, warned []string) bool {
	p.Helper()
	if p.mutates {
		return template(got).Spec.NodeSelector[corev1.LabelOSStable] == "linux"
	}
	return wantsLinux(warned)
}

// wantsLinux says whether the first policy has warned.
func wantsLinux(warned []string) bool {
	return strings.Contains(strings.Join(warned, "\n"), "ValidatingAdmissionPolicy 'capwin-linux-first'")
}

// try has the server say what it would make of an object, and of what it warns.
func (p *policed) try(ctx context.Context, object client.Object) (client.Object, []string) {
	p.Helper()
	p.warnings.take()
	if err := p.api.Create(ctx, object, client.DryRunAll); err != nil {
		p.Fatalf("%s: %v", object.GetName(), err)
	}
	return object, p.warnings.take()
}

// workload is one of the kind, that says of itself no more than a pod.
func workload(kind, namespace, name string, pod corev1.PodSpec) client.Object {
	if len(pod.Containers) == 0 {
		pod.Containers = []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}
	}
	labels := map[string]string{"app": name}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	selector, template := &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod,
	}
	switch kind {
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}}
	}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}
}

func template(object client.Object) *corev1.PodTemplateSpec {
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	}
	return &object.(*appsv1.Deployment).Spec.Template
}

// kubectl is the real one.
func (p *policed) kubectl(input string, args ...string) (string, error) {
	command := exec.CommandContext(p.ctx, filepath.Join(p.programs, "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "KUBECTL_EXTERNAL_DIFF=diff -u")
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	return string(out), err
}

// run is a kubectl that must succeed.
func (p *policed) run(input string, args ...string) string {
	p.Helper()
	out, err := p.kubectl(input, args...)
	if err != nil {
		p.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// warnings are what the server warned of since the last take.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// manifestOfDNS is CoreDNS as kubeadm writes it.
func (p *policed) manifestOfDNS() string {
	p.Helper()
	command := exec.CommandContext(p.ctx, filepath.Join(pinned(p.T), "kubeadm"), "init", "phase", "addon", "coredns",
		"--print-manifest", "--kubernetes-version=v1.36.3")
	command.Stderr = &bytes.Buffer{}
	out := expect.Got(command.Output())(p)
	for text := range strings.SplitSeq(string(out), "\n---\n") {
		if strings.Contains(text, "kind: Deployment") {
			return text
		}
	}
	p.Fatal("kubeadm has no Deployment of CoreDNS")
	return ""
}
