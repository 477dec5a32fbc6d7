package smoke

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// plan is one of a single target.
func plan() *Plan {
	return &Plan{
		options: Options{Registry: DefaultRegistry, Tag: DefaultTag, Outwards: "example.com:443", Start: start},
		targets: []target{{node: "win", build: build2022, address: "192.0.2.7"}}, namespace: namePrefix + "x", id: "1",
	}
}

// tried is a run in which all servers run, and each connection ended as failures say: it holds where there is none.
func tried(failures map[kind]failure) *run {
	p := plan()
	r := &run{Plan: p, answers: map[int][]cloud.Finding{}}
	r.linuxServer = &served{name: linuxServer, address: "10.244.0.2", took: 2 * time.Second, service: service(linuxServer, "")}
	r.windowsServers = []*served{{
		name: p.server(0), address: "10.244.1.2", took: 42 * time.Second, service: service(p.server(0), corev1.ServiceTypeNodePort),
	}}
	for i, s := range []*served{r.linuxServer, r.windowsServers[0]} {
		s.service.Spec.ClusterIP, s.service.Spec.Ports[0].NodePort = fmt.Sprintf("10.96.0.%d", 1+i), 30080
	}
	r.trials = p.trialsOf(0, p.addressesOf(0, r.windowsServers[0], r.linuxServer))
	for _, t := range r.trials {
		t.finished, t.took, t.outcome = true, 3*time.Second, outcome{held: true, tries: 1}
		if why, fails := failures[t.kind]; fails {
			t.outcome = outcome{tries: enoughTries, failure: &why}
		}
	}
	return r
}

// find is the finding of a check.
func find(t *testing.T, found []cloud.Finding, check string) cloud.Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f cloud.Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("there is no %q in %+v", check, found)
	}
	return found[i]
}

// TestReport: all holds, and what is not tried is said.
func TestReport(t *testing.T) {
	var got []string
	for _, f := range tried(nil).report() {
		got = append(got, fmt.Sprintf("%s|%s|%s", f.Check, f.Result, f.Text))
	}
	expect.Same(t, "report", []string{
		"Linux pod|ok|10.244.0.2, runs after 2s",
		"Windows Node|ok|win, Windows 10.0.20348",
		"Windows pod|ok|10.244.1.2, runs after 42s",
		"Linux pod to Windows pod|ok|10.244.1.2:8080, 3s",
		"Linux pod to Service of Windows pod|ok|10.96.0.2:80, 3s",
		"Linux pod to NodePort of Windows node|ok|192.0.2.7:30080, 3s",
		"Windows host to Windows pod|ok|10.244.1.2:8080, 3s",
		"Windows host to Service of Windows pod|ok|10.96.0.2:80, 3s",
		"Windows pod to Linux pod|ok|10.244.0.2:8080, 3s",
		"Windows pod to Service of Linux pod|ok|10.96.0.1:80, 3s",
		"Windows pod to name of a Service|ok|linux-server:80, 3s",
		"Windows pod outwards|ok|example.com:443, 3s",
		"ping out of the cluster|skipped|" + limits[0].Text,
		"NodePort on its own node|skipped|" + limits[1].Text,
		"volumes|skipped|" + limits[2].Text,
	}, got)
}

// TestSeveralNodes: where there are several, each finding of one has its name.
func TestSeveralNodes(t *testing.T) {
	r := tried(nil)
	r.targets = append(r.targets, target{node: "other", build: build2019})
	r.windowsServers = append(r.windowsServers, &served{name: r.server(1), failure: &failure{noSandbox, "no network"}})
	found := r.report()
	expect.Same(t, "one", cloud.CheckOK, find(t, found, "win: Windows pod to Linux pod").Result)
	expect.Same(t, "another", cloud.CheckFailed, find(t, found, "other: Windows pod").Result)
	expect.Same(t, "its connections", cloud.CheckSkipped, find(t, found, "other: Windows pod to Linux pod").Result)
	expect.Same(t, "steps", 2+2*(len(connections)+len(questions)), r.Steps())
}

// TestSentences: each connection has its sentence, by what failed, and one that needs another refers to that one.
func TestSentences(t *testing.T) {
	silent, noSuchName, no := failure{timedOut, "TIMEOUT"}, failure{noName, "DNS: no such host"}, failure{refused, "REFUSED"}
	for name, c := range map[string]struct {
		reason   string
		failures map[kind]failure
		check    kind
		want     string
	}{
		"no way to pods": {
			"the network of pods ends at the node",
			map[kind]failure{linuxToPod: silent},
			linuxToPod,
			"10.244.1.2:8080: TIMEOUT, 3 attempts, 3s. Packets of pods do not pass between this node and the Linux nodes",
		},
		"a Service of a pod that is not reached": {
			"the pod is to be mended first",
			map[kind]failure{linuxToPod: silent, linuxToService: silent},
			linuxToService,
			`Mend "Linux pod to Windows pod" first`,
		},
		"no kube-proxy on Linux": {
			"the pod is reached", map[kind]failure{linuxToService: silent}, linuxToService, "Kube-proxy of the Linux node does not",
		},
		"no endpoint": {"kube-proxy refuses", map[kind]failure{linuxToService: no}, linuxToService, "The Service has no endpoint"},
		"no NodePort": {
			"kube-proxy or a firewall", map[kind]failure{linuxToNodePort: silent}, linuxToNodePort, "TCP 30000-32767",
		},
		"the node and its own pod": {
			"no endpoint of the host", map[kind]failure{hostToPod: silent}, hostToPod, "the host has no endpoint",
		},
		"no kube-proxy for the host": {
			"the pod is reached", map[kind]failure{hostToService: silent}, hostToService, "Kube-proxy does not work on this node",
		},
		"no way to Linux pods": {"as in the other direction", map[kind]failure{windowsToPod: silent}, windowsToPod, "Packets of pods"},
		"no kube-proxy on Windows": {
			"the pod is reached",
			map[kind]failure{windowsToService: silent},
			windowsToService,
			"Kube-proxy does not work on this node",
		},
		"no DNS": {
			"the Service is reached",
			map[kind]failure{windowsToName: noSuchName},
			windowsToName,
			"linux-server:80: DNS: no such host, 3 attempts, 3s. The cluster's DNS does not answer this node's pods",
		},
		"a name, but no kube-proxy": {
			"DNS is behind a Service, too",
			map[kind]failure{windowsToName: noSuchName, windowsToService: silent},
			windowsToName,
			`Mend "Windows pod to Service of Linux pod" first`,
		},
		"no way out": {
			"the CNI does not translate addresses",
			map[kind]failure{windowsOutwards: silent},
			windowsOutwards,
			"Pods get no answer from outside",
		},
		"a closed port outside": {
			"the way is there", map[kind]failure{windowsOutwards: no}, windowsOutwards, "The server answers, but nothing listens",
		},
		"an unknown name outside": {
			"the target is another's",
			map[kind]failure{windowsOutwards: noSuchName},
			windowsOutwards,
			"No DNS server of the cluster has",
		},
		"a crash": {
			"no connection was tried",
			map[kind]failure{hostToPod: {noProgram, "curl.exe is not recognized"}},
			hostToPod,
			"The image or the node lacks the program",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := tried(c.failures)
			got := find(t, r.report(), r.trialOf(0, c.check).name)
			if got.Result != cloud.CheckFailed || !strings.Contains(got.Text, c.want) {
				t.Errorf("%s: got %+v, want %q", c.reason, got, c.want)
			}
		})
	}
}

// TestNotTried: what a server or an option lacks is said once, and what needs it is not tried.
func TestNotTried(t *testing.T) {
	pull := &failure{pullPlatform, noBuild}
	notTried := func(found []cloud.Finding) (names []string) {
		for _, f := range found {
			if f.Result == cloud.CheckSkipped && slices.ContainsFunc(connections, func(c connection) bool { return c.name == f.Check }) {
				names = append(names, f.Check)
			}
		}
		return names
	}
	of := func(change func(r *run)) []cloud.Finding {
		r := tried(nil)
		change(r)
		r.trials = nil
		if r.windowsServers[0].address != "" {
			r.trials = r.trialsOf(0, r.addressesOf(0, r.windowsServers[0], r.linuxServer))
		}
		for _, t := range r.trials {
			t.outcome.held = true
		}
		return r.report()
	}
	noLinux := of(func(r *run) { r.linuxServer.address, r.linuxServer.failure = "", pull })
	expect.Same(t, "without the Linux pod", []string{
		"Windows pod to Linux pod", "Windows pod to Service of Linux pod", "Windows pod to name of a Service",
	}, notTried(noLinux))
	got := find(t, noLinux, "Linux pod")
	if got.Result != cloud.CheckFailed || !strings.Contains(got.Text, "has no build for this Windows") {
		t.Errorf("got %+v", got)
	}
	noWindows := of(func(r *run) { r.windowsServers[0].address, r.windowsServers[0].failure = "", pull })
	expect.Same(t, "without the Windows pod", len(connections), len(notTried(noWindows)))
	noOutwards := of(func(r *run) { r.options.Outwards = "" })
	expect.Same(t, "--outwards none", "not tried: --outwards none", find(t, noOutwards, "Windows pod outwards").Text)
	noAddress := of(func(r *run) { r.targets[0].address = "" })
	expect.Same(t, "a Node without an address", []string{"Linux pod to NodePort of Windows node"}, notTried(noAddress))
	both := of(func(r *run) { r.targets[0].address, r.linuxServer.address, r.linuxServer.failure = "", "", pull })
	got = find(t, both, "Windows pod to Linux pod")
	expect.Same(t, "without the Linux pod, too", "not tried: the Linux pod does not run", got.Text)
}

// TestUnstarted: a pod that tries nothing has its own reason.
func TestUnstarted(t *testing.T) {
	r := tried(nil)
	one := r.trialOf(0, hostToPod)
	one.outcome = outcome{}
	one.look(sight{pod: waiting("ErrImagePull", denied), waited: time.Second}, start, time.Now())
	got := find(t, r.report(), "Windows host to Windows pod")
	if !one.finished || !strings.HasPrefix(got.Text, "the pod windows-host-0 does not try it: failed to resolve reference") ||
		!strings.HasSuffix(got.Text, "The registry requires a login: let the nodes' containerd log in, or take another --registry") {
		t.Errorf("got %+v", got)
	}
}

// TestTrialEnds: three attempts, or the time of attempts that do not end.
func TestTrialEnds(t *testing.T) {
	begun := time.Now()
	hangs := statusOf(running)
	hangs.Status.ContainerStatuses[0].Name = string(hostToPod)
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		at   time.Duration
		over bool
	}{
		"at first": {hangs, 0, false}, "soon": {hangs, connectBound - 1, false}, "in the end": {hangs, connectBound, true},
	} {
		one := &trial{connection: connection{kind: hostToPod}, started: begun}
		one.look(sight{pod: c.pod, waited: c.at}, start, begun.Add(c.at))
		if one.finished != c.over || c.over && one.outcome.failure == nil {
			t.Errorf("%s: got %+v", name, one)
		}
	}
}

// TestLeftOver: a namespace of another run is named with the command that removes it.
func TestLeftOver(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	there := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "capwin-smoke-a", CreationTimestamp: metav1.NewTime(now.Add(-2*time.Hour - time.Second)),
	}}
	going := *there.DeepCopy()
	going.Name, going.DeletionTimestamp = "capwin-smoke-b", &metav1.Time{Time: now.Add(-finalizing)}
	gone := *going.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{Time: now.Add(time.Second - finalizing)}
	got := leftOver([]corev1.Namespace{there, going, gone}, now)
	expect.Same(t, "findings", []cloud.Finding{
		{
			Check: "earlier runs", Result: cloud.CheckWarning,
			Text: "capwin-smoke-a is 2h0m0s old and not of this run: if no other run needs it, kubectl delete namespace capwin-smoke-a",
		},
		{
			Check: "earlier runs", Result: cloud.CheckWarning, Text: "capwin-smoke-b of an earlier run is still being removed: " +
				"kubectl get namespace capwin-smoke-b -o yaml shows what it waits for",
		},
	}, got)
}

// TestEachCauseHelps: no cause is without a sentence, and each place that a sentence names is there.
func TestEachCauseHelps(t *testing.T) {
	sentences := slices.Collect(maps.Values(helps))
	for _, table := range [][]mark{scheduling, pulls, sandboxes, creations, programs, answers} {
		for _, one := range table {
			connects := slices.Contains([]cause{timedOut, refused, noName, noRoute}, one.cause)
			if (helps[one.cause] != "") == connects {
				t.Errorf("%s: a sentence of its own: %v", one.cause, !connects)
			}
		}
	}
	for _, one := range connections {
		if one.help[""] == "" {
			t.Errorf("%s has no sentence", one.kind)
		}
		sentences = slices.AppendSeq(sentences, maps.Values(one.help))
	}
	for _, one := range limits {
		sentences = append(sentences, one.Text)
	}
	sentences = append(sentences, helpNotReady("cni"))
	named := regexp.MustCompile(`(docs/[a-z-]+\.md), "([^"]+)"`)
	places := 0
	for _, sentence := range sentences {
		for _, place := range named.FindAllStringSubmatch(sentence, -1) {
			places++
			page := string(expect.Got(os.ReadFile(filepath.Join("..", "..", "..", place[1])))(t))
			if !strings.Contains(page, "# "+place[2]+"\n") && !strings.Contains(page, "**"+place[2]+".**") {
				t.Errorf("%s has no %q", place[1], place[2])
			}
		}
	}
	if places < 8 {
		t.Errorf("the sentences name %d places", places)
	}
}
