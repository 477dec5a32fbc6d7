package workload

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCanCarry: pods need a kubelet and, if that waits for one, a cloud provider.
func TestCanCarry(t *testing.T) {
	other := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	for name, c := range map[string]struct {
		node corev1.Node
		want bool
	}{
		"Ready":         {aNode("n", "linux", true), true},
		"with a taint":  {aNode("n", "linux", true, other), true},
		"not Ready":     {aNode("n", "linux", false), false},
		"uninitialized": {aNode("n", "linux", true, other, uninitialized), false},
		"new":           {corev1.Node{}, false},
	} {
		expect.Same(t, name, c.want, CanCarry(brief(c.node)))
	}
}

// TestLinuxNodes: pages are read until a Node can have pods, and no more than five.
func TestLinuxNodes(t *testing.T) {
	for name, c := range map[string]struct {
		before, after int // Nodes before and after the one that can have pods
		found, calls  int
		more          bool
	}{
		"one":                {0, 0, 1, 1, false},
		"at the first page":  {19, 1, 20, 1, true},
		"at the second page": {20, 0, 21, 2, false},
		"at the last page":   {99, 1, 100, 5, true},
		"after that":         {100, 0, 100, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := &asked{}
			for i := range c.before + 1 + c.after {
				a.nodes = append(a.nodes, aNode(fmt.Sprint("n", i), "linux", i == c.before), aNode(fmt.Sprint("w", i), "windows", true))
			}
			found := expect.Got(a.serve(t).Linux(t.Context(), key))(t)
			expect.Same(t, "Nodes", c.found, len(found.Found))
			expect.Same(t, "more", c.more, found.More)
			expect.Same(t, "calls", c.calls, len(a.calls))
		})
	}
	_, err := (&asked{fails: "/api/v1/nodes"}).serve(t).Linux(t.Context(), key)
	expect.Says(t, "a failure", err, "boom")
}

// TestKubeadm: what is missing and what is not shown is told by its name, and asked for once in a minute.
func TestKubeadm(t *testing.T) {
	const system, public = "/api/v1/namespaces/kube-system/configmaps/", "/api/v1/namespaces/kube-public/configmaps/"
	there := func(paths ...string) map[string]any {
		objects := map[string]any{}
		for _, path := range paths {
			objects[path] = map[string]any{"kind": "ConfigMap", "apiVersion": "v1"}
		}
		return objects
	}
	all := there(system+"kubeadm-config", system+"kubelet-config", public+"cluster-info")
	for name, c := range map[string]struct {
		*asked
		withInfo bool
		want     ConfigMaps
		calls    int
	}{
		"kubeadm":              {&asked{objects: all}, true, ConfigMaps{}, 3},
		"without cluster-info": {&asked{objects: there(system+"kubeadm-config", system+"kubelet-config")}, false, ConfigMaps{}, 2},
		"cluster-info is needed": {
			&asked{objects: there(system+"kubeadm-config", system+"kubelet-config")}, true,
			ConfigMaps{Missing: []string{"kube-public/cluster-info"}},
			3,
		},
		"another program": {&asked{}, true, ConfigMaps{Missing: []string{
			"kube-system/kubeadm-config", "kube-system/kubelet-config", "kube-public/cluster-info",
		}}, 3},
		"not shown": {
			&asked{objects: all, refuses: system + "kubelet-config"}, true,
			ConfigMaps{Refused: []string{"ConfigMap kube-system/kubelet-config"}},
			3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clusters := c.serve(t)
			for range 3 {
				expect.Same(t, "found", c.want, expect.Got(clusters.Kubeadm(t.Context(), key, c.withInfo))(t))
			}
			expect.Same(t, "calls for three machines", c.calls, len(c.asked.calls))
		})
	}
	for path, withInfo := range map[string]bool{system + "kubelet-config": false, public + "cluster-info": true} {
		_, err := (&asked{objects: all, fails: path}).serve(t).Kubeadm(t.Context(), key, withInfo)
		expect.Says(t, "a failure", err, "boom")
	}
}

// What one look at kubeadm's ConfigMaps found serves for a minute.
func TestKubeadmGetsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reads := &reading[ConfigMaps]{}, 0
		for range 13 {
			expect.Got(r.get(t.Context(), kubeadmServes, func(context.Context) (ConfigMaps, error) {
				reads++
				return ConfigMaps{}, nil
			}))(t)
			later(5 * time.Second)
		}
		expect.Same(t, "readings in 61 seconds", 2, reads)
	})
}

// Who cannot connect has read nothing.
func TestReadsWithoutKubeconfig(t *testing.T) {
	c := &Clusters{Live: &management{}}
	_, err := c.Linux(t.Context(), key)
	expect.Says(t, "Nodes", err, "is not known")
	_, err = c.Kubeadm(t.Context(), key, true)
	expect.Says(t, "ConfigMaps", err, "is not known")
	_, err = c.DNS(t.Context(), key)
	expect.Says(t, "cluster DNS", err, "is not known")
}

// A cluster that answers each of many calls slowly holds nobody for as long as all of them take.
func TestSlowReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := &reading[ConfigMaps]{}, time.Now()
		_, err := r.get(t.Context(), fresh, func(ctx context.Context) (ConfigMaps, error) {
			for range 1000 {
				later(callTime / 2)
				if ctx.Err() != nil {
					return ConfigMaps{}, ctx.Err()
				}
			}
			return ConfigMaps{}, nil
		})
		expect.Same(t, "it is out of reach", true, OutOfReach(err))
		if took := time.Since(began); took > 3*callTime {
			t.Errorf("it took %s", took)
		}
	})
}
