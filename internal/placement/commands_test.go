package placement_test

import (
	"os"
	"os/exec"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// checkCommands runs the commands of findings by the real kubectl, and judges what they made of real workloads.
func (l *lab) checkCommands(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		name, kind, spec string
		cluster          placement.Cluster
	}{
		{"agent", "DaemonSet", `tolerations: [{operator: Exists}]`, tainted},
		{"careless", "Deployment", `nodeSelector: {kubernetes.io/arch: amd64}`, open},
		{"operator", "StatefulSet", `nodeSelector: {pool: a}`, open},
		{"named", "Deployment", `{nodeName: win-0, os: {name: linux}}`, tainted},
	} {
		w := workload(t, c.kind, c.spec)
		w.Name, w.Namespace = c.name, "default"
		l.apply(t, w)
		finding := c.cluster.Judge(w)
		expect.Same(t, c.name+" before", placement.Lands, finding.Verdict)
		l.run(t, finding.Mend)
		expect.Same(t, c.name+" after "+finding.Mend, placement.StaysAway, c.cluster.Judge(l.read(t, w)).Verdict)
		if finding.Allow == "" {
			continue
		}
		l.apply(t, w)
		l.run(t, finding.Allow)
		expect.Same(t, c.name+" after "+finding.Allow, placement.ForWindows, c.cluster.Judge(l.read(t, w)).Verdict)
	}
}

// run runs a command line as a person does.
func (l *lab) run(t *testing.T, line string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line) //nolint:gosec // because it is the line that we tell people
	command.Env = append(os.Environ(), "PATH="+l.kubectl+":"+os.Getenv("PATH"), "KUBECONFIG="+l.workload.KubeconfigFile)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}

// apply makes the workload, in the place of one that is there. It has no replicas.
func (l *lab) apply(t *testing.T, w placement.Workload) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace}
	template := *w.Template.DeepCopy()
	template.Labels = map[string]string{"app": w.Name}
	template.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}
	template.Spec.SchedulerName = "nobody"
	selector, ctx, apps := &metav1.LabelSelector{MatchLabels: template.Labels}, t.Context(), l.client.AppsV1()
	var err error
	switch w.Kind {
	case "Deployment":
		_ = apps.Deployments(w.Namespace).Delete(ctx, w.Name, metav1.DeleteOptions{})
		_, err = apps.Deployments(w.Namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32), Selector: selector, Template: template,
		}}, metav1.CreateOptions{})
	case "StatefulSet":
		_ = apps.StatefulSets(w.Namespace).Delete(ctx, w.Name, metav1.DeleteOptions{})
		_, err = apps.StatefulSets(w.Namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32), Selector: selector, Template: template,
		}}, metav1.CreateOptions{})
	case "DaemonSet":
		_ = apps.DaemonSets(w.Namespace).Delete(ctx, w.Name, metav1.DeleteOptions{})
		_, err = apps.DaemonSets(w.Namespace).Create(ctx, &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{
			Selector: selector, Template: template,
		}}, metav1.CreateOptions{})
	}
	expect.OK(t, err)
}

// read has the workload as it is now.
func (l *lab) read(t *testing.T, w placement.Workload) placement.Workload {
	t.Helper()
	ctx, apps := t.Context(), l.client.AppsV1()
	read := func(meta metav1.ObjectMeta, template corev1.PodTemplateSpec) {
		w.Annotations, w.Template = meta.Annotations, template
	}
	switch w.Kind {
	case "Deployment":
		got := expect.Got(apps.Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{}))(t)
		read(got.ObjectMeta, got.Spec.Template)
	case "StatefulSet":
		got := expect.Got(apps.StatefulSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{}))(t)
		read(got.ObjectMeta, got.Spec.Template)
	case "DaemonSet":
		got := expect.Got(apps.DaemonSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{}))(t)
		read(got.ObjectMeta, got.Spec.Template)
	}
	return w
}
