package workload

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const setsPath = "/apis/apps/v1/daemonsets"

// aSet is a DaemonSet with all in it that a cluster has beside what decides.
func aSet(name string, change func(*corev1.PodSpec)) appsv1.DaemonSet {
	set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "calico-system", Name: name, Labels: map[string]string{"k8s-app": name}, Annotations: map[string]string{"a": "b"},
	}}
	set.Spec.Template.Labels = map[string]string{"k8s-app": name}
	set.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{corev1.LabelOSStable: "windows"}, ServiceAccountName: "calico-node", HostNetwork: true,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Volumes: []corev1.Volume{{Name: "v"}},
		InitContainers: []corev1.Container{{Name: "install-cni", Image: "cni-windows"}},
		Containers: []corev1.Container{{
			Name: "node", Image: "node-windows", Command: []string{"node.ps1"}, Args: []string{"-Verbose"},
			Env: []corev1.EnvVar{{Name: "SECRET", Value: "is not kept"}},
		}},
	}
	change(&set.Spec.Template.Spec)
	return set
}

var hostProcess = &corev1.WindowsSecurityContextOptions{HostProcess: new(true), RunAsUserName: new("NT AUTHORITY\\SYSTEM")}

func ofPod(pod *corev1.PodSpec) {
	pod.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: hostProcess}
}

func ofContainer(pod *corev1.PodSpec) {
	pod.Containers[0].SecurityContext = &corev1.SecurityContext{WindowsOptions: hostProcess}
}

func ofInitContainer(pod *corev1.PodSpec) {
	pod.InitContainers[0].SecurityContext = &corev1.SecurityContext{WindowsOptions: hostProcess}
}

func onLinuxNodes(pod *corev1.PodSpec) {
	pod.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	pod.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
}

// inPages serves DaemonSets in pages, as an API server does.
func inPages(t *testing.T, all ...appsv1.DaemonSet) (c *Clusters, calls *[]string) {
	t.Helper()
	calls = &[]string{}
	c, _ = workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		*calls = append(*calls, strings.TrimSpace(r.URL.Path+" "+query.Get("continue")))
		first, _ := strconv.Atoi(query.Get("continue")) // 0 without
		most, _ := strconv.Atoi(query.Get("limit"))
		list := appsv1.DaemonSetList{TypeMeta: metav1.TypeMeta{Kind: "DaemonSetList", APIVersion: "apps/v1"}}
		end := min(first+most, len(all))
		if list.Items = all[first:end]; end < len(all) {
			list.Continue = strconv.Itoa(end)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	return c, calls
}

// TestHostProcesses: of the DaemonSets with HostProcess containers, what decides where they go and what they run is kept. One
// reading serves all machines.
func TestHostProcesses(t *testing.T) {
	c, calls := inPages(t,
		aSet("linux", onLinuxNodes), aSet("pod", ofPod), aSet("container", ofContainer), aSet("init", ofInitContainer))
	found := expect.Got(c.HostProcesses(t.Context(), key))(t)
	var names []string
	for _, set := range found.Found {
		names = append(names, set.Name)
	}
	expect.Same(t, "found", []string{"pod", "container", "init"}, names)
	expect.Same(t, "more", false, found.More)
	want := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "calico-system", Name: "pod"}}
	want.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector:    map[string]string{corev1.LabelOSStable: "windows"},
		Tolerations:     []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		SecurityContext: &corev1.PodSecurityContext{WindowsOptions: hostProcess},
		Containers: []corev1.Container{{
			Name: "node", Image: "node-windows", Command: []string{"node.ps1"}, Args: []string{"-Verbose"},
		}},
	}
	expect.Same(t, "kept", want, found.Found[0])
	expect.Got(c.HostProcesses(t.Context(), key))(t)
	expect.Same(t, "calls for two machines", []string{setsPath}, *calls)
}

// TestManySets: five pages are read, and no more is kept than any cluster has.
func TestManySets(t *testing.T) {
	many := func(n int) (all []appsv1.DaemonSet) {
		for i := range n {
			all = append(all, aSet(fmt.Sprint("set-", i), onLinuxNodes))
		}
		return all
	}
	c, calls := inPages(t, append(many(100), aSet("last", ofPod))...)
	found := expect.Got(c.HostProcesses(t.Context(), key))(t)
	expect.Same(t, "found", DaemonSets{More: true}, found)
	expect.Same(t, "calls", 5, len(*calls))
	c, _ = inPages(t, append(many(99), aSet("last", ofPod))...)
	found = expect.Got(c.HostProcesses(t.Context(), key))(t)
	expect.Same(t, "more of a hundred", false, found.More)
	expect.Same(t, "found of a hundred", 1, len(found.Found))

	c, _ = inPages(t, aSet("large", ofPod), aSet("larger", func(pod *corev1.PodSpec) {
		ofPod(pod)
		pod.Containers[0].Args = []string{strings.Repeat("x", maxDNS)}
	}))
	_, err := c.HostProcesses(t.Context(), key)
	expect.Says(t, "large DaemonSets", err, "answers with more about its DaemonSets than the manager reads")
	expect.Same(t, "out of reach", true, OutOfReach(err))
}

// What is not shown is named, and a failure is an error.
func TestNoSets(t *testing.T) {
	found := expect.Got((&asked{refuses: setsPath}).serve(t).HostProcesses(t.Context(), key))(t)
	expect.Same(t, "refused", DaemonSets{Refused: []string{"its DaemonSets"}}, found)
	_, err := (&asked{fails: setsPath}).serve(t).HostProcesses(t.Context(), key)
	expect.Says(t, "a failure", err, "boom")
	greedy, _ := workloadCluster(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		list := appsv1.DaemonSetList{TypeMeta: metav1.TypeMeta{Kind: "DaemonSetList", APIVersion: "apps/v1"}}
		list.Items = make([]appsv1.DaemonSet, mostSets+1)
		_ = json.NewEncoder(w).Encode(list)
	})
	_, err = greedy.HostProcesses(t.Context(), key)
	expect.Says(t, "a page that is too large", err, "answers with more DaemonSets than were requested")
	none := &Clusters{Live: &management{}}
	_, err = none.HostProcesses(t.Context(), key)
	expect.Same(t, "without a kubeconfig, out of reach", true, OutOfReach(err))
}
