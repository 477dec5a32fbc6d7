package linux_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	clusters "github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// The managers, as they call themselves to the API server.
const (
	infrastructure = "the-infrastructure-manager"
	bootstrapping  = "the-bootstrap-manager"
)

// longestLook is how long the controller lets a look last.
const longestLook = time.Minute

// keptServer is the API server of a workload cluster, without anything that runs pods, and the reconcilers of Clusters of both
// managers. A test has them look, and sets their clock.
type keptServer struct {
	*testing.T

	environment *envtest.Environment
	api         client.Client
	audit       string
	management  *management
	// qps and burst are those of the flags, unless a test has no time for that.
	qps   float32
	burst int

	clock    time.Time
	managers map[string]*cluster.Reconciler
	due      map[string]time.Time
	told     *events.FakeRecorder
}

// auditOfAll has the API server write down each request once it is answered.
const auditOfAll = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// startKept starts an API server. With mutates false, it is one from before the mutating kind.
func startKept(t *testing.T, mutates bool) *keptServer {
	t.Helper()
	s := &keptServer{T: t, audit: filepath.Join(t.TempDir(), "audit.log"), qps: 1000, burst: 1000}
	s.clock, s.told = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), events.NewFakeRecorder(100)
	policy := filepath.Join(t.TempDir(), "audit.yaml")
	expect.OK(t, os.WriteFile(policy, []byte(auditOfAll), 0o600))
	s.environment = patient(pinned(t))
	flags := s.environment.ControlPlane.GetAPIServer().Configure()
	flags.Append("audit-policy-file", policy).Append("audit-log-path", s.audit)
	if !mutates {
		const kind = "admissionregistration.k8s.io/v1/mutatingadmissionpol"
		flags.Append("runtime-config", kind+"icies=false", kind+"icybindings=false").
			Append("disable-admission-plugins", "MutatingAdmissionPolicy")
	}
	config := expect.Got(s.environment.Start())(t)
	expect.OK(t, servers.NoteStart("kube-apiserver"))
	t.Cleanup(func() { expect.Fine(t, s.environment.Stop()) })
	config.UserAgent, config.QPS = "a-person", -1
	s.api = expect.Got(client.New(config, client.Options{}))(t)
	s.management = newManagement(s.environment.KubeConfig, "prod")
	s.begin()
	return s
}

// begin has new processes of both managers take over.
func (s *keptServer) begin() {
	reach := func(manager string) *clusters.Clusters {
		return &clusters.Clusters{Live: s.management, QPS: s.qps, Burst: s.burst, UserAgent: manager}
	}
	now := func() time.Time { return s.clock }
	cloud, rights := reach(infrastructure), reach(bootstrapping)
	s.due = map[string]time.Time{infrastructure: s.clock, bootstrapping: s.clock}
	s.managers = map[string]*cluster.Reconciler{
		infrastructure: {
			Client: s.management, Workload: cloud,
			Keeps: func() []cluster.Keep {
				policies := &cluster.Policies{Lists: cloud}
				return []cluster.Keep{policies, &cluster.Findings{Policies: policies, Count: func(string, string, int) {}}}
			},
			Object: &infrav1.WindowsMachine{}, List: &infrav1.WindowsMachineList{}, Events: s.told, Now: now,
		},
		bootstrapping: {
			Client: s.management, Workload: rights,
			Keeps: func() []cluster.Keep {
				return []cluster.Keep{&cluster.NodeRights{Live: s.management}, &cluster.GuestRights{}}
			},
			Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{},
			Events: s.told, Now: now,
		},
	}
}

// reconcile has a manager look at a Cluster, as its controller does.
func (s *keptServer) reconcile(manager, about string) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctrl.LoggerInto(s.Context(), logr.Discard()), longestLook)
	defer cancel()
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: about}}
	return s.managers[manager].Reconcile(ctx, request)
}

// look has a manager look at prod.
func (s *keptServer) look(manager string) {
	s.Helper()
	s.due[manager] = s.clock.Add(expect.Got(s.reconcile(manager, "prod"))(s).RequeueAfter)
}

// lookAll has both managers look at prod.
func (s *keptServer) lookAll() {
	s.Helper()
	for manager := range s.managers {
		s.look(manager)
	}
}

// pass lets time pass, and has both managers look at prod whenever that is due.
func (s *keptServer) pass(d time.Duration) {
	s.Helper()
	for end := s.clock.Add(d); s.clock.Before(end); {
		next := end
		for _, due := range s.due {
			if due.Before(next) {
				next = due
			}
		}
		s.clock = next
		for manager, due := range s.due {
			if !s.clock.Before(due) {
				s.look(manager)
			}
		}
	}
}

// settle waits until a machine may be made and the rights act, as time passes, and returns what the machine is warned of.
func (s *keptServer) settle() (warning string) {
	s.Helper()
	begin, first := time.Now(), s.clock
	wait.Until(s, "the policies", func() (any, bool) {
		s.clock = first.Add(time.Since(begin))
		s.lookAll()
		kept, says := s.kept()
		warning = says
		return says, kept
	})
	s.Logf("a machine waited for %.1f s, warned of %q", time.Since(begin).Seconds(), warning)
	return warning
}

// kept asks for a machine of prod.
func (s *keptServer) kept() (kept bool, warning string) {
	s.Helper()
	about := &clusterv1.Cluster{}
	expect.OK(s, s.management.Get(s.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "prod"}, about))
	answers := s.managers[infrastructure]
	return answers.Kept(about, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "a-machine"})
}

// tells are the events since the last call.
func (s *keptServer) tells() (notes []string) {
	for len(s.told.Events) > 0 {
		notes = append(notes, <-s.told.Events)
	}
	return notes
}

// call is one in the audit log.
type call struct {
	Verb, RequestURI, UserAgent string
	ObjectRef                   struct{ Resource, Name string }
	ResponseStatus              struct{ Code int }
}

// calls are those of a manager, so far.
func (s *keptServer) calls(manager string) (all []call) {
	s.Helper()
	lines := bufio.NewScanner(bytes.NewReader(expect.Got(os.ReadFile(s.audit))(s)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one call
		expect.OK(s, json.Unmarshal(lines.Bytes(), &one))
		if one.UserAgent == manager {
			all = append(all, one)
		}
	}
	return all
}

// during counts the calls of a manager while something is done, by what is called.
func (s *keptServer) during(manager string, do func()) map[string]int {
	s.Helper()
	before, n := len(s.calls(manager)), map[string]int{}
	do()
	for _, c := range s.calls(manager)[before:] {
		n[c.what()]++
	}
	return n
}

// what is called: a probe has dry as its verb.
func (c call) what() string {
	if strings.Contains(c.RequestURI, "dryRun=All") {
		return "dry " + c.ObjectRef.Resource
	}
	path, _, _ := strings.Cut(c.RequestURI, "?")
	return c.Verb + " " + cmp.Or(c.ObjectRef.Resource, path)
}

// written counts what the infrastructure manager changes while something is done, by the object.
func (s *keptServer) written(do func()) map[string]int {
	s.Helper()
	before, n := len(s.calls(infrastructure)), map[string]int{}
	do()
	for _, c := range s.calls(infrastructure)[before:] {
		read := c.Verb == "get" || c.Verb == "list" || strings.Contains(c.RequestURI, "dryRun=All")
		if !read && c.ResponseStatus.Code < 300 {
			n[fmt.Sprintf("%s/%s", c.ObjectRef.Resource, c.ObjectRef.Name)]++
		}
	}
	return n
}

// read is an object as it is now; nil if it is not there.
func (s *keptServer) read(of *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	return read(s.Context(), s, s.api, of)
}
