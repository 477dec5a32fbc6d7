package linux_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// published tries what add-ons publish, under names of its own, as the server has a CoreDNS: exactly what lands in spite of the
// taint is wanted on Linux.
func (p *policed) published() {
	p.Helper()
	var all []struct {
		Kind, Namespace, Name string
		Spec                  corev1.PodSpec
	}
	file := "../../../internal/placement/testdata/workloads.json"
	expect.OK(p, json.Unmarshal(expect.Got(os.ReadFile(file))(p), &all))
	var wanted []string
	for _, one := range all {
		pod := one.Spec.DeepCopy()
		pod.Containers, pod.InitContainers, pod.Volumes = nil, nil, nil // which have no names there
		namespace := agents
		if one.Namespace == metav1.NamespaceSystem {
			namespace = one.Namespace
		}
		had := pod.NodeSelector[osKey]
		got, warned := p.try(p.ctx, workload(one.Kind, namespace, "published-"+one.Name, *pod))
		if had == "" && p.wants(got, warned) {
			wanted = append(wanted, one.Name)
		}
	}
	slices.Sort(wanted)
	expect.Same(p, "published workloads that change", []string{"kube-multus-ds", "node-local-dns", "node-problem-detector"},
		slices.Compact(wanted))
	p.Logf("of %d published workloads the policies want %d on Linux: %v", len(all), len(wanted), wanted)
}

// writers bring a workload to what its owner wants, again and again. Flux writes in test/upstream/gitops, by its own code.
var writers = map[string]func(p *policed, wanted *unstructured.Unstructured){
	"apply":       func(p *policed, wanted *unstructured.Unstructured) { p.run(textOf(p, wanted), "apply", "-f", "-") },
	"server-side": (*policed).appliesOnServer,
	"argo-cd":     (*policed).syncs,
	"operator":    (*policed).updates,
	"labeller":    (*policed).labels,
}

// owned is a workload of the fleet, with the one that writes it.
type owned struct {
	writer string
	wanted *unstructured.Unstructured
	// linux says that a change of its template gets the selector.
	linux bool
}

// fleet makes workloads of several kinds, one for each writer, which has it before the policies. With -linux.all, or on servers
// of another version, these are all; otherwise one for each writer.
func (p *policed) fleet() (all []owned) {
	p.Helper()
	controlPlane := requiring(ask("node-role.kubernetes.io/control-plane", "Exists"))
	for i, one := range []struct {
		kind, namespace, name string
		pod                   corev1.PodSpec
	}{
		{"DaemonSet", metav1.NamespaceSystem, "node-local-dns", corev1.PodSpec{Tolerations: everywhere}},
		{"DaemonSet", metav1.NamespaceSystem, "vsphere-cpi", controlPlane},
		{"Deployment", metav1.NamespaceSystem, "cluster-autoscaler", corev1.PodSpec{}},
		{"DaemonSet", agents, "agent", corev1.PodSpec{Tolerations: everywhere}},
		{"StatefulSet", agents, "database", corev1.PodSpec{Tolerations: everywhere}},
	} {
		if i > 0 && !*everything && *otherServers == "" {
			break
		}
		for _, writer := range slices.Sorted(maps.Keys(writers)) {
			object := workload(one.kind, one.namespace, one.name+"-of-"+writer, *one.pod.DeepCopy())
			o := owned{writer, asManifest(p, object, one.kind), one.pod.Affinity == nil}
			p.writes(o)
			all = append(all, o)
		}
	}
	return all
}

// asManifest is an object as its owner has it in a file, where not all is as an API server writes it.
func asManifest(p *policed, object client.Object, kind string) *unstructured.Unstructured {
	p.Helper()
	u := &unstructured.Unstructured{Object: expect.Got(runtime.DefaultUnstructuredConverter.ToUnstructured(object))(p)}
	u.SetAPIVersion("apps/v1")
	u.SetKind(kind)
	unstructured.RemoveNestedField(u.Object, "status")
	for _, in := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
		unstructured.RemoveNestedField(u.Object, append(in, "creationTimestamp")...)
	}
	setImage(p, u, "registry.k8s.io/pause:3.10")
	expect.OK(p, unstructured.SetNestedSlice(u.Object, []any{}, "spec", "template", "spec", "initContainers"))
	return u
}

func setImage(p *policed, u *unstructured.Unstructured, image string) {
	p.Helper()
	container := map[string]any{"name": "main", "image": image, "resources": map[string]any{
		"requests": map[string]any{"cpu": "1000m", "memory": "1024Mi"},
	}}
	expect.OK(p, unstructured.SetNestedSlice(u.Object, []any{container}, "spec", "template", "spec", "containers"))
}

func textOf(p *policed, u *unstructured.Unstructured) string {
	p.Helper()
	return string(expect.Got(json.Marshal(u.Object))(p))
}

// writes has the owner of a workload write it once.
func (p *policed) writes(o owned) {
	p.Helper()
	writers[o.writer](p, o.wanted.DeepCopy())
}

// rollsNothing: once the policies are there, each owner goes on writing what he wrote before, and rolls nothing. When he changes
// the image, that one rollout brings the selector, and what he writes afterwards changes nothing any more.
func (p *policed) rollsNothing(fleet []owned) {
	p.Helper()
	caused, writes := 0, 0
	for _, o := range fleet {
		before := p.there(o.wanted)
		for range 2 {
			p.writes(o)
			writes++
		}
		if now := p.there(o.wanted); rolled(before, now) {
			caused++
			p.Errorf("%s rolled %s without a change: generation %d was %d", o.writer, o.wanted.GetName(), now.GetGeneration(),
				before.GetGeneration())
		}
	}
	p.Logf("rollouts caused: %d, by %d writes of %d writers to %d workloads that nobody changed", caused, writes, len(writers),
		len(fleet))
	for _, o := range fleet {
		p.changesImage(o)
	}
}

// changesImage: one generation for the change and the selector together.
func (p *policed) changesImage(o owned) {
	p.Helper()
	before := p.there(o.wanted)
	setImage(p, o.wanted, "registry.k8s.io/pause:3.11")
	var changed *unstructured.Unstructured
	for i := range 3 {
		p.writes(o)
		now := p.there(o.wanted)
		selector, _, _ := unstructured.NestedStringMap(now.Object, "spec", "template", "spec", "nodeSelector")
		expect.Same(p, fmt.Sprintf("that %s selects Linux after write %d", o.wanted.GetName(), i), o.linux, selector[osKey] == "linux")
		if i == 0 {
			changed = now
			if !isDeployment(now) { // whose generation counts changes of annotations, too
				expect.Same(p, "generation of "+o.wanted.GetName(), before.GetGeneration()+1, now.GetGeneration())
			}
			continue
		}
		if rolled(changed, now) {
			p.Errorf("%s rolled %s again, by write %d", o.writer, o.wanted.GetName(), i)
		}
	}
}

func isDeployment(u *unstructured.Unstructured) bool { return u.GetKind() == "Deployment" }

// rolled says whether the template of a workload, or its generation, is another one.
func rolled(before, now *unstructured.Unstructured) bool {
	was, _, _ := unstructured.NestedMap(before.Object, "spec", "template")
	is, _, _ := unstructured.NestedMap(now.Object, "spec", "template")
	return !reflect.DeepEqual(was, is) || before.GetGeneration() != now.GetGeneration()
}

// there is a workload as it is now.
func (p *policed) there(of *unstructured.Unstructured) *unstructured.Unstructured {
	p.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(of.GroupVersionKind())
	expect.OK(p, p.api.Get(p.ctx, client.ObjectKeyFromObject(of), now))
	return now
}

func (p *policed) appliesOnServer(wanted *unstructured.Unstructured) {
	p.Helper()
	p.run(textOf(p, wanted), "apply", "--server-side", "--field-manager=a-person", "-f", "-")
}

const argo = "argocd-controller"

// syncs does what Argo CD does with ServerSideDiff and self-heal (argo-cd v3.1, gitops-engine pkg/diff/diff.go, serverSideDiff
// and removeWebhookMutation): it has the server predict its apply, takes from the prediction what it does not own, and applies if
// the rest differs from what is there.
func (p *policed) syncs(wanted *unstructured.Unstructured) {
	p.Helper()
	options := []client.ApplyOption{client.FieldOwner(argo), client.ForceOwnership}
	predicted := wanted.DeepCopy()
	expect.OK(p, p.api.Apply(p.ctx, client.ApplyConfigurationFromUnstructured(predicted), append(options, client.DryRunAll)...))
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err := p.api.Get(p.ctx, client.ObjectKeyFromObject(wanted), live)
	expect.OK(p, client.IgnoreNotFound(err))
	if err == nil {
		if !ownsSelector(predicted) {
			takeOver(predicted, live)
		}
		if reflect.DeepEqual(predicted.Object["spec"], live.Object["spec"]) {
			return // Synced
		}
	}
	expect.OK(p, p.api.Apply(p.ctx, client.ApplyConfigurationFromUnstructured(wanted), options...))
}

// ownsSelector says whether the server ascribes the nodeSelector to Argo CD.
func ownsSelector(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(u.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == argo && f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:nodeSelector"`)
	})
}

// takeOver has the nodeSelector of another object, or none if that has none.
func takeOver(into, from *unstructured.Unstructured) {
	path := []string{"spec", "template", "spec", "nodeSelector"}
	unstructured.RemoveNestedField(into.Object, path...)
	if selector, found, _ := unstructured.NestedFieldCopy(from.Object, path...); found {
		_ = unstructured.SetNestedField(into.Object, selector, path...) // its parents are there
	}
}

// updates does what an operator does that compares nothing, and replaces the whole spec at each reconcile.
func (p *policed) updates(wanted *unstructured.Unstructured) {
	p.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err := p.api.Get(p.ctx, client.ObjectKeyFromObject(wanted), live)
	if client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	if err != nil {
		expect.OK(p, p.api.Create(p.ctx, wanted, client.FieldOwner("operator")))
		return
	}
	live.Object["spec"] = wanted.Object["spec"]
	expect.OK(p, p.api.Update(p.ctx, live, client.FieldOwner("operator")))
}

// labels makes the workload, has it be as wanted where somebody has changed that, and counts its own visits in a label and in the
// status, as schedulers of rollouts and autoscalers do.
func (p *policed) labels(wanted *unstructured.Unstructured) {
	p.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err := p.api.Get(p.ctx, client.ObjectKeyFromObject(wanted), live)
	if err != nil {
		p.updates(wanted)
		live = p.there(wanted)
	}
	containers, _, _ := unstructured.NestedSlice(wanted.Object, "spec", "template", "spec", "containers")
	image := containers[0].(map[string]any)["image"].(string)
	patch := fmt.Sprintf(`{"metadata":{"labels":{"visited-at":%q}},`+
		`"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`,
		live.GetResourceVersion(), image)
	expect.OK(p, p.api.Patch(p.ctx, live, client.RawPatch("application/strategic-merge-patch+json", []byte(patch))))
	expect.OK(p, unstructured.SetNestedField(live.Object, live.GetGeneration(), "status", "observedGeneration"))
	expect.OK(p, p.api.Status().Update(p.ctx, live))
}
