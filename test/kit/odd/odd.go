// Package odd makes of any bytes what a workload cluster may tell, whether it is hostile or merely odd: Nodes, workloads and JSON
// with what no API server of Kubernetes writes. The bytes are those of a fuzz test, which so chooses each part.
package odd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// Source chooses by its bytes. Once they are used up, it chooses the first of everything.
type Source struct{ Bytes []byte }

// N is a number from 0 to n-1.
func (s *Source) N(n int) int {
	if len(s.Bytes) == 0 {
		return 0
	}
	b := s.Bytes[0]
	s.Bytes = s.Bytes[1:]
	return int(b) % n
}

// Once is true in one of so many cases.
func (s *Source) Once(cases int) bool { return s.N(cases) == 1 }

// One is one of these.
func One[V any](s *Source, of ...V) V { return of[s.N(len(of))] }

// texts are some that mean something to somebody, and some that no API server takes.
var texts = []string{
	"win-0", "win-1", "linux-0", "agent", "kube-proxy", "kube-dns", "kube-system", "default", "", "windows", "linux", "both",
	"os", "pool", "a", "kubernetes.io/os", "beta.kubernetes.io/os", "kubernetes.io/hostname", "node.kubernetes.io/windows-build",
	"capwin.cluster.x-k8s.io/kube-proxy", "service", "capwin.io/runs-on", "k8s-app", "*", "NoSchedule", "PreferNoSchedule",
	"metadata.name",
	"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Equal", "5", "-1", "10.0.20348", "DaemonSet", "Deployment", "StatefulSet",
	"v1", "1.36", "v1.36.3", "v1.35.0", "v1.32.9", "v1.36.3+k3s1", "v999999999999.1", "v1.18446744073709551615",
	"v1.99999999999999999999999", "1.36.3 ; reboot", "registry.k8s.io/kube-proxy:v1.36.3", "kube-proxy:1.36.3-calico",
	"kube-proxy@sha256:00", "kube-proxy:", ":v1.36.3", "r:5000/kube-proxy", "a/b", "/", "a/b/c", placement.FirstNode,
	"x\n\x1b[31m", "%s%!d", "'; reboot; '", "`reboot`", "ä\u202e", "\xff\xfe", strings.Repeat("a", 300), strings.Repeat("ä", 5000),
}

// Text is any.
func (s *Source) Text() string {
	if s.Once(12) {
		n := min(s.N(40), len(s.Bytes))
		text := string(s.Bytes[:n])
		s.Bytes = s.Bytes[n:]
		return text
	}
	return One(s, texts...)
}

func (s *Source) list(most int) (all []string) {
	for range s.N(most) {
		all = append(all, s.Text())
	}
	return all
}

// Labels are any, of the system most often.
func (s *Source) Labels() map[string]string {
	if s.Once(6) {
		return nil
	}
	all := map[string]string{}
	if !s.Once(4) {
		all[corev1.LabelOSStable] = One(s, "windows", "linux", s.Text())
	}
	if s.Once(3) {
		all["capwin.cluster.x-k8s.io/kube-proxy"] = "service"
	}
	for range s.N(3) {
		all[s.Text()] = s.Text()
	}
	return all
}

// Node is any.
func (s *Source) Node() placement.Node {
	n := placement.Node{Name: One(s, "win-0", "win-1", "linux-0", s.Text()), Labels: s.Labels(), Unknown: s.list(3)}
	for range s.N(4) {
		n.Taints = append(n.Taints, corev1.Taint{
			Key: One(s, "os", s.Text()), Value: One(s, "windows", s.Text()),
			Effect: corev1.TaintEffect(One(s, "NoSchedule", "NoExecute", s.Text())),
		})
	}
	return n
}

// Nodes are some.
func (s *Source) Nodes(most int) (all []placement.Node) {
	for range s.N(most) {
		all = append(all, s.Node())
	}
	return all
}

func (s *Source) tolerations() (all []corev1.Toleration) {
	for range s.N(3) {
		all = append(all, corev1.Toleration{
			Key: One(s, "", "os", s.Text()), Operator: corev1.TolerationOperator(One(s, "Exists", "", "Lt", s.Text())),
			Value: One(s, "", "windows", s.Text()), Effect: corev1.TaintEffect(One(s, "", "NoSchedule", s.Text())),
		})
	}
	return all
}

func (s *Source) requirements() (all []corev1.NodeSelectorRequirement) {
	for range s.N(3) {
		all = append(all, corev1.NodeSelectorRequirement{
			Key: s.Text(), Operator: corev1.NodeSelectorOperator(One(s, "In", "NotIn", "Exists", "Gt", s.Text())), Values: s.list(3),
		})
	}
	return all
}

func (s *Source) affinity() *corev1.Affinity {
	if !s.Once(2) {
		return nil
	}
	affinity := &corev1.Affinity{}
	if s.Once(4) {
		return affinity
	}
	affinity.NodeAffinity = &corev1.NodeAffinity{}
	if s.Once(4) {
		return affinity
	}
	required := &corev1.NodeSelector{}
	for range s.N(3) {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: s.requirements(), MatchFields: s.requirements(),
		})
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	return affinity
}

func (s *Source) containers() (all []corev1.Container) {
	for range s.N(3) {
		c := corev1.Container{Name: One(s, "kube-proxy", s.Text()), Image: s.Text()}
		if s.Once(3) {
			c.SecurityContext = &corev1.SecurityContext{}
			if s.Once(2) {
				c.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{}
			}
		}
		all = append(all, c)
	}
	return all
}

// Workload is any.
func (s *Source) Workload() placement.Workload {
	w := placement.Workload{
		Kind:      One(s, "DaemonSet", "Deployment", "StatefulSet", s.Text()),
		Namespace: One(s, "kube-system", "team", "", s.Text()), Name: s.Text(),
	}
	if s.Once(4) {
		w.Annotations = map[string]string{placement.RunsOnAnnotation: One(s, "both", s.Text())}
	}
	w.Template.Labels = map[string]string{One(s, "k8s-app", s.Text()): One(s, "kube-dns", s.Text())}
	spec := &w.Template.Spec
	spec.Tolerations, spec.Affinity = s.tolerations(), s.affinity()
	spec.Containers, spec.InitContainers = s.containers(), s.containers()
	if s.Once(3) {
		spec.NodeSelector = s.Labels()
	}
	if s.Once(6) {
		spec.NodeName = One(s, "win-0", s.Text())
	}
	if s.Once(6) {
		spec.OS = &corev1.PodOS{Name: corev1.OSName(One(s, "windows", "linux", s.Text()))}
	}
	if s.Once(6) {
		spec.RuntimeClassName = new(One(s, "windows", "a", s.Text()))
	}
	return w
}

// Classes are some RuntimeClasses.
func (s *Source) Classes() (all []nodev1.RuntimeClass) {
	for range s.N(3) {
		c := nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: One(s, "windows", "a", s.Text())}}
		if s.Once(2) {
			c.Scheduling = &nodev1.Scheduling{NodeSelector: s.Labels(), Tolerations: s.tolerations()}
		}
		all = append(all, c)
	}
	return all
}
