package linux_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// addon is a DaemonSet that tolerates everything and names no system.
type addon struct{ namespace, name, from string }

// addons are two as they are published, in kube-system, and an agent elsewhere (OneUptime's, before its pull request 3057).
func addons(suffix string) []addon {
	return []addon{
		{"kube-system", "node-local-dns" + suffix, "node-local-dns"},
		{"kube-system", "kube-multus-ds" + suffix, "kube-multus-ds"},
		{"monitoring", "kubernetes-agent-logs" + suffix, ""},
	}
}

// make makes the DaemonSets, and returns what the API server says to that.
func (s *stage) make(all []addon) (said []string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "monitoring"}}
	expect.OK(s, client.IgnoreAlreadyExists(s.lab.WorkloadClient.Create(s.ctx, namespace)))
	for _, one := range all {
		said = append(said, s.kubectl("create", "-f", s.file(s.daemonSet(one))))
	}
	return said
}

func (s *stage) daemonSet(a addon) *appsv1.DaemonSet {
	s.Helper()
	spec := corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
	if a.from != "" {
		spec = s.published(a.from)
	}
	labels := map[string]string{app: a.name}
	spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/" + a.name + ":v1"}}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

// runsOn is a label of pods that run on both systems.
const runsOn = "runs-on"

// makeBoth makes an agent that runs on both systems, and says so.
func (s *stage) makeBoth(name string) addon {
	s.Helper()
	one := addon{namespace: "default", name: name}
	set := s.daemonSet(one)
	set.Annotations = map[string]string{placement.RunsOnAnnotation: placement.RunsOnBoth}
	set.Spec.Template.Labels[runsOn] = placement.RunsOnBoth
	s.kubectl("create", "-f", s.file(set))
	return one
}

// runOnBoth: what runs on both systems has pods on all Nodes, whether it was made before the policies or after, and also after
// a write.
func (s *stage) runOnBoth(before, after addon) {
	s.Helper()
	s.kubectl("label", "daemonset", before.name, "-n", before.namespace, "touched=yes")
	s.rolled([]addon{before, after}, linuxNodes+2)
	count, pending := 0, 0
	for _, one := range []addon{before, after} {
		for _, pod := range s.podsOf(one.name) {
			if count++; pod.Status.Phase == corev1.PodPending {
				pending++
			}
		}
		expect.Same(s, "generation of "+one.name, int64(1), s.get(one).Generation)
	}
	expect.Same(s, "pods that are Pending", 0, pending)
	s.Logf("%d pods of 2 agents for both systems, made before and after the policies: %d Pending", count, pending)
}

// published is what test/repo/workloads has read of a workload: all that says where its pods may go.
func (s *stage) published(name string) corev1.PodSpec {
	s.Helper()
	var all []struct {
		Name string
		Spec corev1.PodSpec
	}
	file := "../../../internal/placement/testdata/workloads.json"
	expect.OK(s, json.Unmarshal(expect.Got(os.ReadFile(file))(s), &all))
	for _, one := range all {
		if one.Name == name {
			return one.Spec
		}
	}
	s.Fatalf("%s has no %s", file, name)
	return corev1.PodSpec{}
}

// get reads one of the DaemonSets.
func (s *stage) get(a addon) *appsv1.DaemonSet {
	s.Helper()
	set := &appsv1.DaemonSet{}
	expect.OK(s, s.lab.WorkloadClient.Get(s.ctx, client.ObjectKey{Namespace: a.namespace, Name: a.name}, set))
	return set
}

// rolled waits until each DaemonSet has pods of its newest template, Ready, on each Node that it selects, and no others.
func (s *stage) rolled(all []addon, nodes int) {
	s.Helper()
	for _, one := range all {
		wait.Until(s, fmt.Sprintf("%s to have pods on %d Nodes", one.name, nodes), func() (any, bool) {
			set := s.get(one)
			has, pods := set.Status, s.podsOf(one.name)
			return has, has.ObservedGeneration == set.Generation && int(has.DesiredNumberScheduled) == nodes && len(pods) == nodes &&
				int(has.UpdatedNumberScheduled) == nodes && int(has.NumberReady) == nodes
		})
	}
}

func (s *stage) podsOf(of string) []corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	expect.OK(s, s.lab.WorkloadClient.List(s.ctx, &pods, client.MatchingLabels{app: of}))
	return pods.Items
}

// settleDNS waits until all replicas of CoreDNS are of the newest template and available.
func (s *stage) settleDNS(replicas int32) {
	s.Helper()
	begin := time.Now()
	wait.Until(s, fmt.Sprintf("%d replicas of CoreDNS", replicas), func() (any, bool) {
		d := s.coreDNS()
		has := d.Status
		return has, has.ObservedGeneration == d.Generation && has.Replicas == replicas && has.UpdatedReplicas == replicas &&
			has.AvailableReplicas == replicas
	})
	s.Logf("%5.1f s  until CoreDNS has %d replicas", time.Since(begin).Seconds(), replicas)
}

func (s *stage) coreDNS() *appsv1.Deployment {
	s.Helper()
	d := &appsv1.Deployment{}
	expect.OK(s, s.lab.WorkloadClient.Get(s.ctx, client.ObjectKey{Namespace: "kube-system", Name: "coredns"}, d))
	return d
}

func (s *stage) scaleDNS(replicas int32) {
	s.Helper()
	s.kubectl("scale", "deployment", "coredns", "-n", "kube-system", fmt.Sprintf("--replicas=%d", replicas))
	s.settleDNS(replicas)
}

// drain takes the pods off a Linux node, as a person would.
func (s *stage) drain(node string) {
	s.Helper()
	begin := time.Now()
	s.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
	s.settleDNS(*s.coreDNS().Spec.Replicas)
	s.kubectl("uncordon", node)
	s.Logf("%5.1f s  to drain %s", time.Since(begin).Seconds(), node)
}

// upgradeDNS changes CoreDNS as the control-plane provider does in an upgrade (cluster-api v1.14.2,
// controlplane/kubeadm/pkg/workload_cluster_coredns.go): one merge patch has the pods read a copy of the Corefile, and when the
// new one is written, another has them read that, with the new image.
func (s *stage) upgradeDNS(tag string) {
	s.Helper()
	key := client.ObjectKey{Namespace: "kube-system", Name: "coredns"}
	corefile := &corev1.ConfigMap{}
	expect.OK(s, s.lab.WorkloadClient.Get(s.ctx, key, corefile))
	corefile.Data["Corefile-backup"] = corefile.Data["Corefile"]
	expect.OK(s, s.lab.WorkloadClient.Update(s.ctx, corefile))
	s.patchDNS(func(pod *corev1.PodSpec) { s.corefile(pod).Key = "Corefile-backup" })
	corefile.Data["Corefile"] += "\n"
	expect.OK(s, s.lab.WorkloadClient.Update(s.ctx, corefile))
	s.patchDNS(func(pod *corev1.PodSpec) {
		s.corefile(pod).Key = "Corefile"
		repository, _, _ := strings.Cut(pod.Containers[0].Image, ":")
		pod.Containers[0].Image = repository + ":" + tag
	})
	s.settleDNS(*s.coreDNS().Spec.Replicas)
}

func (s *stage) patchDNS(change func(*corev1.PodSpec)) {
	s.Helper()
	d := s.coreDNS()
	before := d.DeepCopy()
	change(&d.Spec.Template.Spec)
	expect.OK(s, s.lab.WorkloadClient.Patch(s.ctx, d, client.MergeFrom(before)))
}

// corefile is what the pods read.
func (s *stage) corefile(pod *corev1.PodSpec) *corev1.KeyToPath {
	s.Helper()
	for i := range pod.Volumes {
		if items := pod.Volumes[i].ConfigMap; items != nil && len(items.Items) == 1 {
			return &items.Items[0]
		}
	}
	s.Fatalf("CoreDNS reads no Corefile: %+v", pod.Volumes)
	return nil
}

const takeSelector = `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`

// unselect takes the nodeSelector of CoreDNS away, if that is let through.
func (s *stage) unselect() (said string, err error) {
	s.Helper()
	return s.try("patch", "deployment", "coredns", "-n", "kube-system", "--type=merge", "-p", takeSelector)
}
