package linux_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	clusters "github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// ours is what the keeper calls itself to the API server.
const ours = "the-keeper"

// keptServer is an API server whose policies are kept, and nothing that runs pods.
type keptServer struct {
	*testing.T

	environment *envtest.Environment
	config      *rest.Config
	api         client.Client
	audit       string
	// management has the Cluster, and kubeconfig is that of its Secret.
	management client.Client
	cluster    *clusterv1.Cluster
	kubeconfig []byte
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
	if testing.Short() {
		t.Skip("needs real servers")
	}
	s := &keptServer{T: t, audit: filepath.Join(t.TempDir(), "audit.log")}
	policy := filepath.Join(t.TempDir(), "audit.yaml")
	expect.OK(t, os.WriteFile(policy, []byte(auditOfAll), 0o600))
	s.environment = &envtest.Environment{
		BinaryAssetsDirectory: expect.Got(servers.Ensure(t.Context(), os.Stderr))(t).Dir,
	}
	flags := s.environment.ControlPlane.GetAPIServer().Configure()
	flags.Append("audit-policy-file", policy).Append("audit-log-path", s.audit)
	if !mutates {
		const kind = "admissionregistration.k8s.io/v1/mutatingadmissionpol"
		flags.Append("runtime-config", kind+"icies=false", kind+"icybindings=false").
			Append("disable-admission-plugins", "MutatingAdmissionPolicy")
	}
	s.config = expect.Got(s.environment.Start())(t)
	expect.OK(t, servers.NoteStart("kube-apiserver"))
	t.Cleanup(func() { expect.Fine(t, s.environment.Stop()) })
	s.config.UserAgent, s.config.QPS = "a-person", -1
	s.api, s.kubeconfig = expect.Got(client.New(s.config, client.Options{}))(t), s.environment.KubeConfig
	s.manage()
	return s
}

// manage makes a management cluster with the Cluster prod and a WindowsMachine.
func (s *keptServer) manage() {
	scheme := runtime.NewScheme()
	expect.OK(s, errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme),
		infrav1.AddToScheme(scheme)))
	s.cluster = &clusterv1.Cluster{}
	s.cluster.Namespace, s.cluster.Name, s.cluster.UID = metav1.NamespaceDefault, "prod", "uid-of-prod"
	s.cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	machine := &infrav1.WindowsMachine{}
	machine.Namespace, machine.Name = metav1.NamespaceDefault, "win-0"
	machine.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod"}
	s.management = fake.NewClientBuilder().WithScheme(scheme).WithObjects(s.cluster, machine).Build()
}

// Get implements client.Reader for the only Secret that is asked for.
func (s *keptServer) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	secret, is := object.(*corev1.Secret)
	if !is {
		return fmt.Errorf("a %T was asked for", object)
	}
	secret.Data = map[string][]byte{"value": s.kubeconfig}
	return nil
}

// List implements client.Reader.
func (*keptServer) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("a list was asked for")
}

// keep starts a process that keeps the policies, until end.
func (s *keptServer) keep() (keeper *placement.Keeper, end func()) {
	s.Helper()
	reach := &clusters.Clusters{Live: s, QPS: 20, Burst: 40, UserAgent: ours}
	keeper = &placement.Keeper{Client: s.management, Workload: reach, Teller: &placement.Teller{
		Client: s.management, Events: events.NewFakeRecorder(1000), Count: func(string, string, int) {}, Now: time.Now,
	}}
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(s.Context(), logr.Discard()))
	ended := make(chan error, 1)
	go func() { ended <- keeper.Start(ctx) }()
	return keeper, func() {
		cancel()
		expect.OK(s, <-ended)
	}
}

// await waits until a machine may be made, and returns what it is warned of.
func (s *keptServer) await(keeper *placement.Keeper) (warning string) {
	s.Helper()
	begin := time.Now()
	wait.Until(s, "the policies", func() (any, bool) {
		kept, says := keeper.Kept(s.cluster)
		warning = says
		return says, kept
	})
	s.Logf("a machine waited for %.1f s, warned of %q", time.Since(begin).Seconds(), warning)
	return warning
}

// call is one of the keeper's in the audit log.
type call struct {
	Verb, RequestURI, UserAgent string
	ObjectRef                   struct{ Resource, Name string }
	ResponseStatus              struct{ Code int }
}

// calls are those of the keeper, so far.
func (s *keptServer) calls() (all []call) {
	s.Helper()
	lines := bufio.NewScanner(bytes.NewReader(expect.Got(os.ReadFile(s.audit))(s)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one call
		expect.OK(s, json.Unmarshal(lines.Bytes(), &one))
		if one.UserAgent == ours {
			all = append(all, one)
		}
	}
	return all
}

// writes counts calls that have changed something, by the object.
func writes(calls []call) map[string]int {
	n := map[string]int{}
	for _, c := range calls {
		read := c.Verb == "get" || c.Verb == "list" || c.Verb == "watch" || strings.Contains(c.RequestURI, "dryRun=All")
		if !read && c.ResponseStatus.Code < 300 {
			n[c.ObjectRef.Resource+"/"+c.ObjectRef.Name]++
		}
	}
	return n
}

// read is an object as it is now; nil if it is not there.
func (s *keptServer) read(of *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	return read(s.Context(), s, s.api, of)
}

// content is what counts of an object.
func content(of *unstructured.Unstructured) map[string]any {
	if of == nil {
		return nil
	}
	return map[string]any{"spec": of.Object["spec"], "data": of.Object["data"], "label": of.GetLabels()[policies.Label]}
}

func unstructuredText(of map[string]any) string {
	text, _ := json.Marshal(of) // it came from JSON
	return string(text)
}
