package linux_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

const switchName = "capwin.io/linux-policy"

// switchedOff: by the annotation on the Cluster all objects of ours go, and what they are for happens. Without it they come back,
// and what runs on Windows meanwhile stays there until somebody changes it.
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
	s.readAnew()
	s.told(off)
	for _, one := range off {
		expect.Same(s, "generation of "+one.name+" once the policies are back", int64(1), s.get(one).Generation)
	}
	s.changeImages(off)
	s.rolled(off, linuxNodes)
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

// changeImages has each DaemonSet roll.
func (s *stage) changeImages(all []addon) {
	s.Helper()
	for _, one := range all {
		s.kubectl("set", "image", "daemonset/"+one.name, "-n", one.namespace, "c=example.com/"+one.name+":v2")
	}
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

// planned: before the policy that changes workloads was there, an event on the Cluster named what it will change. CoreDNS is part
// of that until somebody has run the command for it.
func (s *stage) planned(all []addon) {
	s.Helper()
	notes := s.notes()
	for note := range strings.Lines(notes) {
		for _, n := range []int{len(all), len(all) + 1} {
			if strings.Contains(note, fmt.Sprintf("workloads that select nothing: %d (DaemonSet ", n)) {
				return
			}
		}
	}
	s.Errorf("no event has what the policy will change:\n%s", notes)
}

// notes are those of the events of where pods go.
func (s *stage) notes() string {
	s.Helper()
	return s.management("get", "events.events.k8s.io", "-n", lab.Namespace, "--field-selector",
		"reason=PlacementFinding,regarding.name="+lab.ClusterName, "-o", `jsonpath={range .items[*]}{.note}{"\n"}{end}`)
}

// readAnew has another process read the workload cluster, which this one does each ten minutes.
func (s *stage) readAnew() {
	s.Helper()
	expect.OK(s, s.lab.Management.Pause(servers.Infrastructure))
	expect.OK(s, s.lab.Management.Resume(s.ctx, servers.Infrastructure))
}

// told: an event on the Cluster names each workload that may come to Windows Nodes, with the command that mends it, and the one
// that says that it runs on both systems.
func (s *stage) told(all []addon) {
	s.Helper()
	for _, one := range all {
		wanted := []string{
			fmt.Sprintf("DaemonSet %s/%s may run on Windows", one.namespace, one.name),
			fmt.Sprintf("kubectl patch daemonset %s -n %s --type merge -p ", one.name, one.namespace),
			fmt.Sprintf("kubectl annotate daemonset %s -n %s --overwrite capwin.io/runs-on=both", one.name, one.namespace),
		}
		wait.Until(s, "an event about "+one.name, func() (any, bool) {
			notes := s.notes()
			for note := range strings.Lines(notes) {
				if !slices.ContainsFunc(wanted, func(part string) bool { return !strings.Contains(note, part) }) {
					return note, true
				}
			}
			return notes, false
		})
	}
}
