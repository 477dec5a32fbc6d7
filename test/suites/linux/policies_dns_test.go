package linux_test

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// ofDNS is kubeadm's CoreDNS by another name, and changed.
func (p *policed) ofDNS(name string, change func(*corev1.PodSpec)) *appsv1.Deployment {
	p.Helper()
	dns := &appsv1.Deployment{}
	expect.OK(p, yaml.Unmarshal([]byte(p.manifestOfDNS()), dns))
	dns.Name = name
	change(&dns.Spec.Template.Spec)
	return dns
}

// bareDNS makes one that has never selected Linux.
func (p *policed) bareDNS() *appsv1.Deployment {
	p.Helper()
	dns := p.ofDNS("coredns-bare", func(pod *corev1.PodSpec) { pod.NodeSelector = nil })
	expect.OK(p, p.api.Create(p.ctx, dns))
	return dns
}

// upgrade does what the control-plane provider does: it patches the image, and which key of the ConfigMap is the Corefile
// (Cluster API v1.14.2, controlplane/kubeadm/internal/workload_cluster_coredns.go).
func (p *policed) upgrade(dns *appsv1.Deployment) *appsv1.Deployment {
	p.Helper()
	key := client.ObjectKeyFromObject(dns)
	for _, corefile := range []string{"Corefile-backup", "Corefile"} {
		now := &appsv1.Deployment{}
		expect.OK(p, p.api.Get(p.ctx, key, now))
		patch := client.MergeFrom(now.DeepCopy())
		pod := &now.Spec.Template.Spec
		for i := range pod.Volumes {
			if pod.Volumes[i].Name == "config-volume" {
				pod.Volumes[i].ConfigMap.Items = []corev1.KeyToPath{{Key: corefile, Path: "Corefile"}}
			}
		}
		pod.Containers[0].Image = "registry.k8s.io/coredns/coredns:v1.14.9"
		expect.OK(p, p.api.Patch(p.ctx, now, patch))
		dns = now
	}
	return dns
}

// upgradesBareDNS: what has never selected Linux can be upgraded, and each time somebody is told.
func (p *policed) upgradesBareDNS(bare *appsv1.Deployment) {
	p.Helper()
	p.warnings.take()
	upgraded := p.upgrade(bare)
	if warned := p.warnings.take(); !wantsLinux(warned) {
		p.Errorf("an upgrade of DNS without a selector warns of %v", warned)
	}
	expect.Same(p, "selector after the upgrade", map[string]string(nil), upgraded.Spec.Template.Spec.NodeSelector)
	patch := client.MergeFrom(upgraded.DeepCopy())
	upgraded.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
	expect.OK(p, p.api.Patch(p.ctx, upgraded, patch))
	expect.Same(p, "warnings of a selector that comes", []string(nil), p.warnings.take())
	_, warned := p.try(p.ctx, p.ofDNS("coredns-new", func(pod *corev1.PodSpec) { pod.NodeSelector = nil }))
	if !wantsLinux(warned) {
		p.Errorf("new DNS without a selector warns of %v", warned)
	}
}

// affine requires one of these terms of Nodes.
func affine(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

func ask(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}},
	}
}

// refusesDNS changes cluster DNS that selects Linux in each way: it must go on selecting it, in whatever words.
func (p *policed) refusesDNS() {
	p.Helper()
	const os, beta = corev1.LabelOSStable, "beta.kubernetes.io/os"
	bySelector := func(*corev1.PodSpec) {}
	byAffinity := func(pod *corev1.PodSpec) { pod.NodeSelector, pod.Affinity = nil, affine(ask(os, "In", "linux")) }
	byBeta := func(pod *corev1.PodSpec) { pod.NodeSelector = map[string]string{beta: "linux"} }
	for _, c := range []struct {
		name        string
		from        func(*corev1.PodSpec)
		to          func(*appsv1.Deployment, *corev1.PodSpec)
		wantRefused bool
	}{
		{"selector gone", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) { pod.NodeSelector = nil }, true},
		{"affinity gone", byAffinity, func(_ *appsv1.Deployment, pod *corev1.PodSpec) { pod.Affinity = nil }, true},
		{"older label gone", byBeta, func(_ *appsv1.Deployment, pod *corev1.PodSpec) { pod.NodeSelector = nil }, true},
		{"Windows instead", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) { pod.NodeSelector[os] = "windows" }, true},
		{"another label", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		}, true},
		{"a build of Windows", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector = map[string]string{corev1.LabelWindowsBuild: "10.0.20348"}
		}, true},
		{"both, by annotation", bySelector, func(dns *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector = nil
			dns.Annotations = map[string]string{"capwin.io/runs-on": "both"}
		}, true},
		{"spec.os alone", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector, pod.OS = nil, &corev1.PodOS{Name: corev1.Linux}
		}, true},
		{"one term of two", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector, pod.Affinity = nil, affine(ask(os, "In", "linux"), ask("pool", "Exists"))
		}, true},
		{"any system", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector, pod.Affinity = nil, affine(ask(os, "Exists"))
		}, true},
		{"both systems", byAffinity, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.Affinity = affine(ask(os, "In", "linux", "windows"))
		}, true},
		{"an empty term", byAffinity, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.Affinity = affine(ask(os, "In", "linux"), corev1.NodeSelectorTerm{})
		}, true},
		{"affinity instead", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector, pod.Affinity = nil, affine(ask(os, "In", "linux"))
		}, false},
		{"not Windows instead", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector, pod.Affinity = nil, affine(ask(os, "NotIn", "windows"))
		}, false},
		{"selector instead", byAffinity, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector, pod.Affinity = map[string]string{os: "linux"}, nil
		}, false},
		{"the newer label", byBeta, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.NodeSelector = map[string]string{os: "linux"}
		}, false},
		{"one more label", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) { pod.NodeSelector["pool"] = "a" }, false},
		{"another image", bySelector, func(_ *appsv1.Deployment, pod *corev1.PodSpec) {
			pod.Containers[0].Image = "coredns:v2"
		}, false},
	} {
		dns := p.ofDNS("coredns-"+strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(c.name), " ", "-"), ",", ""), c.from)
		dns.Name = strings.ReplaceAll(dns.Name, "spec.os", "spec")
		for _, object := range []client.Object{dns, asDaemonSet(dns)} {
			expect.OK(p, p.api.Create(p.ctx, object))
			p.refuses(c.name, object, c.to, c.wantRefused)
		}
	}
	p.refusesUnlabelled()
}

// refusesUnlabelled: one update takes the label away by which cluster DNS is known, and the selector. Without the label alone, it
// may be what it likes.
func (p *policed) refusesUnlabelled() {
	p.Helper()
	dns := p.ofDNS("coredns-unlabelled", func(*corev1.PodSpec) {})
	dns.Spec.Selector, dns.Spec.Template.Labels["app"] = other(), "other"
	for _, object := range []client.Object{dns, asDaemonSet(dns)} {
		expect.OK(p, p.api.Create(p.ctx, object))
		for _, label := range []string{"", "coredns"} {
			now := object.DeepCopyObject().(client.Object)
			of := template(now)
			if of.Labels["k8s-app"] = label; label == "" {
				delete(of.Labels, "k8s-app")
			}
			p.refuses("label and selector gone", now, func(_ *appsv1.Deployment, pod *corev1.PodSpec) { pod.NodeSelector = nil }, true)
		}
		delete(template(object).Labels, "k8s-app")
		p.refuses("label gone", object, func(*appsv1.Deployment, *corev1.PodSpec) {}, false)
	}
}

// asDaemonSet is the same as a DaemonSet.
func asDaemonSet(dns *appsv1.Deployment) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: *dns.ObjectMeta.DeepCopy(),
		Spec:       appsv1.DaemonSetSpec{Selector: dns.Spec.Selector, Template: *dns.Spec.Template.DeepCopy()},
	}
}

func (p *policed) refuses(name string, object client.Object, to func(*appsv1.Deployment, *corev1.PodSpec), wantRefused bool) {
	p.Helper()
	p.warnings.take()
	meta := &appsv1.Deployment{}
	to(meta, &template(object).Spec)
	object.SetAnnotations(meta.Annotations)
	err := p.api.Update(p.ctx, object)
	text := ""
	if wantRefused {
		text = "ValidatingAdmissionPolicy 'capwin-dns-stays-on-linux' with binding 'capwin-dns-stays-on-linux' denied request: " +
			"cluster DNS runs on Linux only; keep the nodeSelector kubernetes.io/os: linux in spec.template.spec, beside any other key, " +
			"or set the annotation capwin.io/linux-policy: off on the Cluster in the management cluster; where that is gone, run " +
			"kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy capwin-dns-stays-on-linux"
	}
	expect.Says(p, name, err, text)
	p.warnings.take()
}

// notDNS: a label of the object itself, another namespace and other pods make no cluster DNS.
func (p *policed) notDNS() {
	p.Helper()
	for name, change := range map[string]func(*appsv1.Deployment){
		"elsewhere": func(d *appsv1.Deployment) { d.Namespace = agents },
		"other-pods": func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels["k8s-app"], d.Spec.Template.Labels["k8s-app"] = "x", "x"
		},
		"no-labels": func(d *appsv1.Deployment) { d.Spec.Selector, d.Spec.Template.Labels = other(), other().MatchLabels },
	} {
		dns := p.ofDNS(name, func(*corev1.PodSpec) {})
		change(dns)
		expect.OK(p, p.api.Create(p.ctx, dns))
		dns.Spec.Template.Spec.NodeSelector = nil
		expect.Fine(p, p.api.Update(p.ctx, dns))
	}
}

func other() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
}
