package linux_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

const switchName = "capwin.io/linux-policy"

// switchedOff: by the annotation on the Cluster all objects of ours go, and what they are for happens. Without it they come back,
// and spare what runs on Windows meanwhile.
func (s *stage) switchedOff() {
	s.Helper()
	s.management("annotate", "cluster", lab.ClusterName, switchName+"=off")
	wait.Until(s, "no policies", func() (any, bool) {
		for _, one := range allOfOurs(true) {
			if s.read(one) != nil {
				return nameOf(one), false
			}
		}
		refuses, changes := s.act()
		return []bool{refuses, changes}, !refuses && !changes
	})
	off := addons("-off")
	s.hazard(off)
	s.management("annotate", "cluster", lab.ClusterName, switchName+"-")
	s.kept(true, s.bought())
	s.spared(off)
	s.told(off, false)
}

// hazard: without policies, what tolerates everything comes to Windows, and so does CoreDNS once it selects nothing.
func (s *stage) hazard(off []addon) {
	s.Helper()
	s.make(off)
	s.landed(off)
	s.scaleDNS(50)
	said, err := s.unselect()
	if err != nil {
		s.Fatalf("%v\n%s", err, said)
	}
	s.settleDNS(50)
	wrong := of(s.bindings.wrong(), coreDNS)
	if len(wrong) == 0 {
		s.Error("without policies CoreDNS does not come to Windows: is there a hazard?")
	}
	s.Logf("without policies %d pods of CoreDNS came to Windows; in all %s", len(wrong), s.bindings.count())
	s.kubectl("patch", "deployment", "coredns", "-n", "kube-system", "-p",
		`{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}`)
	s.scaleDNS(2)
}

// spared: what has Ready pods on Windows Nodes when the policy is made stays there when it is written.
func (s *stage) spared(off []addon) {
	s.Helper()
	param := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: policies.ParamNamespace, Name: policies.ParamName}
	expect.OK(s, s.lab.WorkloadClient.Get(s.ctx, key, param))
	params := expect.Got(policies.ReadParams(param))(s)
	var names []string
	for _, one := range params.Spared {
		names = append(names, one.Name)
	}
	expect.Same(s, "spared", "kube-multus-ds-off node-local-dns-off kubernetes-agent-logs-off", strings.Join(names, " "))
	for _, one := range off {
		s.kubectl("set", "image", "daemonset/"+one.name, "-n", one.namespace, "c=example.com/"+one.name+":v2")
	}
	s.rolled(off, linuxNodes+2)
}

// warned: an API server that changes nothing says what would have been changed.
func (s *stage) warned(all []addon) {
	s.Helper()
	const warning = "its pods may run on Windows Nodes; add the nodeSelector kubernetes.io/os: linux"
	for _, said := range s.make(all) {
		if !strings.Contains(said, "Warning: ") || !strings.Contains(said, warning) {
			s.Errorf("kubectl create says: %s", said)
		}
	}
}

// file has an object for kubectl.
func (s *stage) file(o client.Object) string {
	s.Helper()
	name := filepath.Join(s.TempDir(), o.GetName()+".json")
	expect.OK(s, os.WriteFile(name, expect.Got(json.Marshal(o))(s), 0o600))
	return name
}

// told: an event on the Cluster names each workload that may come to Windows Nodes, with the command that mends it, the one that
// says that it runs on both systems, and after which command a policy mends it.
func (s *stage) told(all []addon, again bool) {
	s.Helper()
	for _, one := range all {
		wanted := []string{
			fmt.Sprintf("DaemonSet %s/%s may run on Windows", one.namespace, one.name),
			fmt.Sprintf("kubectl patch daemonset %s -n %s --type merge -p ", one.name, one.namespace),
			fmt.Sprintf("kubectl annotate daemonset %s -n %s --overwrite capwin.io/runs-on=both", one.name, one.namespace),
		}
		if again {
			wanted = append(wanted, fmt.Sprintf("kubectl label daemonset %s -n %s ", one.name, one.namespace))
		}
		wait.Until(s, "an event about "+one.name, func() (any, bool) {
			notes := s.management("get", "events.events.k8s.io", "-n", lab.Namespace, "--field-selector",
				"reason=PlacementFinding,regarding.name="+lab.ClusterName, "-o", `jsonpath={range .items[*]}{.note}{"\n"}{end}`)
			for note := range strings.Lines(notes) {
				if !slices.ContainsFunc(wanted, func(part string) bool { return !strings.Contains(note, part) }) {
					return note, true
				}
			}
			return notes, false
		})
	}
}
