package linux_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// allOfOurs are all objects that are kept in a cluster, or those of them for which its API server has kinds.
func allOfOurs(withMutating bool) (all []*unstructured.Unstructured) {
	all = policies.Validating()
	if withMutating {
		all = append(all, policies.Mutating()...)
	}
	return all
}

// read reads one of our objects as it is in the cluster; nil if it is not there.
func (s *stage) read(one *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	return read(s.ctx, s, s.lab.WorkloadClient, one)
}

// read is an object as it is now; nil if it is not there.
func read(ctx context.Context, t testing.TB, api client.Reader, of *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(of.GroupVersionKind())
	err := api.Get(ctx, client.ObjectKeyFromObject(of), there)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return there
}

// keptFirst: the policies act before the first VM is bought, each is written by our manager, and machines wait for that. It is
// called when Linux has just come up, with whether they acted before that, when nothing was bought.
func (s *stage) keptFirst(withMutating, acted bool) {
	s.Helper()
	begin := time.Now()
	reasons := s.kept(withMutating, 0)
	const open = 20 * time.Second // until cluster DNS answers, and a machine has seen that
	mustWait := time.Since(begin) > open || !acted && s.bought() > 0
	if waits := infrav1.WaitingForLinuxPoliciesReason; mustWait && !reasons[waits] {
		s.Errorf("no machine was %s, but %v", waits, reasons)
	}
	writes := s.writes(time.Time{})
	for _, one := range allOfOurs(withMutating) {
		if writes[nameOf(one)] == 0 {
			s.Errorf("%s was not written by our manager", nameOf(one))
		}
	}
}

// bought is how many VMs were ever asked for.
func (s *stage) bought() int { return s.lab.VCenter.Calls()["CloneVM_Task"] }

// kept waits until the policies are there, and act. No VM but so many is bought before that. It returns the reasons that machines
// had meanwhile.
func (s *stage) kept(withMutating bool, before int) (reasons map[string]bool) {
	s.Helper()
	begin := time.Now()
	reasons = map[string]bool{}
	wait.Until(s, "the policies to act", func() (any, bool) {
		bought := s.bought()
		for _, m := range s.machines() {
			reasons[capiconditions.GetReason(&m, infrav1.ReadyCondition)] = true
		}
		refuses, changes := s.act()
		act := refuses && changes == withMutating
		if !act && bought > before {
			s.Fatalf("%d VMs were bought before the policies acted", bought-before)
		}
		return []bool{refuses, changes}, act
	})
	for _, one := range allOfOurs(withMutating) {
		if s.read(one) == nil {
			s.Errorf("%s is missing", nameOf(one))
		}
	}
	s.Logf("%5.1f s  until the policies act; meanwhile machines are %v", time.Since(begin).Seconds(), reasons)
	return reasons
}

// act says of the API server whether it obeys the validating policies, and the mutating one. It reads them each second or so.
func (s *stage) act() (refuses, changes bool) {
	s.Helper()
	refused := s.lab.WorkloadClient.Create(s.ctx, policies.ProbeValidating(), client.DryRunAll)
	probe := policies.ProbeMutating()
	expect.OK(s, s.lab.WorkloadClient.Create(s.ctx, probe, client.DryRunAll))
	return policies.IsRefusal(refused), policies.IsMutated(probe)
}

// landed: what is not written while the policies are there comes to all Nodes. Its templates are returned.
func (s *stage) landed(all []addon) (revisions []string) {
	s.Helper()
	s.rolled(all, linuxNodes+2)
	for _, one := range all {
		found := of(s.bindings.wrong(), one.name)
		if len(found) != 2 || found[0].revision == "" || found[0].revision != found[1].revision {
			s.Errorf("%s is bound to Windows Nodes:\n%s", one.name, list(found))
			continue
		}
		revisions = append(revisions, found[0].revision)
	}
	return revisions
}

// keeps: what is made, and what was made before and is changed, has pods on Linux alone. A label rolls nothing.
func (s *stage) keeps(before []addon) {
	s.Helper()
	after := addons("-after")
	s.make(after)
	for _, one := range before {
		s.kubectl("label", "daemonset", one.name, "-n", one.namespace, "touched=yes")
		expect.Same(s, "generation of "+one.name+" with another label", int64(1), s.get(one).Generation)
	}
	s.changeImages(before)
	s.rolled(append(after, before...), linuxNodes)
	for _, one := range before {
		expect.Same(s, "generation of "+one.name+": it was rolled once", int64(2), s.get(one).Generation)
	}
}

// movesDNS does with CoreDNS what people and the control-plane provider do. Where its selector is taken away, it is as before, or
// the API server has said what refused expects.
func (s *stage) movesDNS(refused func(said string, err error)) {
	s.Helper()
	s.scaleDNS(50)
	s.drain("linux-0")
	s.scaleDNS(4)
	s.upgradeDNS("v1.99.0")
	before := s.coreDNS()
	file := s.manifestOfDNS()
	for _, how := range [][]string{
		{"patch", "deployment", "coredns", "-n", "kube-system", "--type=merge", "-p", takeSelector},
		{
			"patch", "deployment", "coredns", "-n", "kube-system", "--type=json", "-p",
			`[{"op": "remove", "path": "/spec/template/spec/nodeSelector"}]`,
		},
		{"replace", "-f", file},
	} {
		said, err := s.try(how...)
		if refused != nil {
			refused(said, err)
			continue
		}
		if now := s.coreDNS(); err != nil || now.Generation != before.Generation {
			s.Errorf("kubectl %s: %v: %s; generation %d was %d", how[0], err, said, now.Generation, before.Generation)
		}
	}
	s.settleDNS(4)
	least, told := s.dns.lowest()
	if least < 1 || told < 10 {
		s.Errorf("CoreDNS had %d available replicas at one of %d times", least, told)
	}
	s.Logf("CoreDNS had at least %d available replicas, by %d events of its Deployment", least, told)
}

// manifestOfDNS is a file with CoreDNS that selects nothing.
func (s *stage) manifestOfDNS() string {
	s.Helper()
	d := s.coreDNS()
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	d.ObjectMeta = metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, Labels: d.Labels, Annotations: d.Annotations}
	d.Spec.Template.Spec.NodeSelector = nil
	return s.file(d)
}

// onlyBefore: no other pod was ever bound to a Windows Node than those of these templates, from before the policies.
func (s *stage) onlyBefore(revisions []string) {
	s.Helper()
	wrong := slices.DeleteFunc(s.bindings.wrong(), func(b binding) bool { return slices.Contains(revisions, b.revision) })
	if len(wrong) > 0 {
		s.Errorf("%d wrong bindings:\n%s", len(wrong), list(wrong))
	}
	s.Logf("%s: pods of what was there before the policies, and was not written yet", s.bindings.count())
}

// comesBack: what somebody deletes or edits of ours is back within a minute, by one write.
func (s *stage) comesBack(withMutating bool) {
	s.Helper()
	all := allOfOurs(withMutating)
	was := map[string]*unstructured.Unstructured{}
	for _, one := range all {
		was[nameOf(one)] = s.read(one)
	}
	s.spoil(all, was, 0)
	if *everything {
		s.spoil(all, was, 1) // each that was deleted is edited now
	}
}

// spoil deletes each second one of our objects, and edits the others.
func (s *stage) spoil(all []*unstructured.Unstructured, was map[string]*unstructured.Unstructured, first int) {
	s.Helper()
	begin := time.Now()
	for i, one := range all {
		if i%2 == first {
			expect.OK(s, s.lab.WorkloadClient.Delete(s.ctx, one.DeepCopy()))
		} else {
			s.edit(one)
		}
	}
	wait.Until(s, "what was deleted or edited", func() (any, bool) {
		for _, one := range all {
			if now := s.read(one); now == nil || !same(now, was[nameOf(one)]) {
				return nameOf(one), false
			}
		}
		return "", true
	})
	took := time.Since(begin)
	writes := s.writes(begin)
	for _, one := range all {
		if n := writes[nameOf(one)]; n != 1 {
			s.Errorf("%s was written %d times", nameOf(one), n)
		}
	}
	s.Logf("%5.1f s  until %d objects of ours are back that were deleted or edited, by %d writes", took.Seconds(), len(all),
		len(writes))
}

// edit changes what decides in one of our objects.
func (s *stage) edit(one *unstructured.Unstructured) {
	s.Helper()
	patch := `{"spec":{"failurePolicy":"Fail"}}`
	switch {
	case one.GetKind() == "ValidatingAdmissionPolicyBinding":
		patch = `{"spec":{"validationActions":["Audit"]}}`
	case one.GetKind() == "MutatingAdmissionPolicyBinding":
		patch = `{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"no":"where"}}}}}`
	}
	changed := one.DeepCopy()
	err := s.lab.WorkloadClient.Patch(s.ctx, changed, client.RawPatch("application/merge-patch+json", []byte(patch)))
	if err != nil {
		s.Fatalf("%v; there is %v", err, s.read(one))
	}
}

// same compares what decides.
func same(a, b *unstructured.Unstructured) bool {
	text := func(o *unstructured.Unstructured) string {
		return fmt.Sprint(o.Object["spec"], o.GetLabels())
	}
	return b != nil && text(a) == text(b)
}

func nameOf(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

// writes counts what our managers have written of our objects since then.
func (s *stage) writes(since time.Time) map[string]int {
	s.Helper()
	kinds := map[string]string{}
	for _, kind := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
		plural := strings.TrimSuffix(strings.ToLower(kind), "y")
		kinds[plural+"ies.admissionregistration.k8s.io"] = kind
		kinds[plural+"ybindings.admissionregistration.k8s.io"] = kind + "Binding"
	}
	counts := map[string]int{}
	for _, asked := range expect.Got(s.lab.Workload.Asked(manager))(s) {
		if kind := kinds[asked.Resource]; asked.Writes() && asked.At.After(since) && kind != "" {
			counts[kind+" "+asked.Name]++
		}
	}
	return counts
}

// wroteNoWorkload: our managers have never written what is somebody else's; others have.
func (s *stage) wroteNoWorkload() {
	s.Helper()
	isWorkload := func(a servers.Asked) bool {
		return a.Writes() && (strings.HasSuffix(a.Resource, ".apps") || strings.HasPrefix(a.Resource, "pods") ||
			strings.HasSuffix(a.Resource, ".batch"))
	}
	asked := expect.Got(s.lab.Workload.Asked(manager))(s)
	counts := map[string]int{}
	for _, one := range asked {
		if one.Writes() {
			counts[one.Verb+" "+one.Resource]++
		}
		if isWorkload(one) {
			s.Errorf("our manager has written a workload: %+v", one)
		}
	}
	others := slices.DeleteFunc(expect.Got(s.lab.Workload.Asked("kubectl"))(s), func(a servers.Asked) bool { return !isWorkload(a) })
	if len(asked) == 0 || len(others) == 0 {
		s.Errorf("the audit log has %d requests of ours, and %d writes of others to workloads", len(asked), len(others))
	}
	s.Logf("the audit log has %d requests of our managers, none of them a write to a workload: %v; and %d such writes of kubectl",
		len(asked), counts, len(others))
}
