package lab_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// reasonPools are the pools whose machines fail.
func (j *joins) reasonPools() []lab.Pool {
	var pools []lab.Pool
	j.table = j.provocations()
	for _, p := range j.table {
		config := p.config
		if (p.soft || p.restarts) && config.BootstrapDeadlineSeconds == 0 {
			config.BootstrapDeadlineSeconds = joinsLate
		}
		pools = append(pools, lab.Pool{Name: p.pool(), Replicas: 1, Config: &config, NetworkInterfaces: p.networks})
		j.worlds[p.pool()] = func(g *guest.Simulated) {
			g.Speed = haste
			if p.world != nil {
				p.world(g)
			}
		}
	}
	return pools
}

// joinsLate is for those that join: on a machine that has other work, their clocks run far ahead of what they do.
const joinsLate = 7200

// assertReasons waits for all machines to say what they are to say. No reason is left out.
func (j *joins) assertReasons(ctx context.Context) {
	for _, reason := range bootstrap.Reasons() {
		if !slices.ContainsFunc(j.table, func(p provoked) bool { return p.reason == reason }) {
			j.Errorf("%s is provoked nowhere", reason)
		}
	}
	waits := slices.Clone(j.table)
	j.until("all pools to say something", func() (any, bool) {
		machines := j.byPool(ctx)
		waits = slices.DeleteFunc(waits, func(p provoked) bool {
			m := machines[p.pool()]
			if p.soft && m != nil && conditions.IsFalse(m, infrav1.BootstrapSucceededCondition) {
				j.Fatalf("%s was to join, and says %s", p.pool(), conditions.GetMessage(m, infrav1.BootstrapSucceededCondition))
			}
			j.startAgain(ctx, p, m)
			return m != nil && p.over(m) && (p.soft || j.onMachine(ctx, m))
		})
		return pools(waits), len(waits) == 0
	}, func() {
		machines := j.byPool(ctx)
		for _, pool := range pools(waits) {
			if m := machines[pool]; m != nil {
				j.showGuest(m.Status.ComputerName)
				j.Logf("%s: %s %+v", pool, m.Status.Phase, m.Status.Bootstrap)
			}
		}
	})
	shown := j.kubectl(ctx, "get", "windowsmachines", "--namespace", lab.Namespace)
	machines := j.byPool(ctx)
	for _, p := range j.table {
		m := machines[p.pool()]
		j.assertTold(m, p)
		if line := lineOf(shown, m.Name); !p.soft && !slices.Contains(strings.Fields(line), p.reason) {
			j.Errorf("kubectl does not show %s: %s", p.reason, line)
		}
	}
}

func pools(all []provoked) (names []string) {
	for _, p := range all {
		names = append(names, p.pool())
	}
	return names
}

// startAgain restarts a guest whose later starts are to fail, once it has joined.
func (j *joins) startAgain(ctx context.Context, p provoked, m *infrav1.WindowsMachine) {
	j.Helper()
	if !p.restarts || m == nil || m.Status.Phase != infrav1.PhaseRunning {
		return
	}
	if _, again := j.guests.LoadOrStore("restarted "+p.pool(), true); !again {
		j.must(j.guest(p.pool()).Restart(ctx))
	}
}

// onMachine says whether the guest's sentence has come to Ready of the Machine, which a MachineDeployment shows.
func (j *joins) onMachine(ctx context.Context, m *infrav1.WindowsMachine) bool {
	j.Helper()
	machine, err := util.GetOwnerMachine(ctx, j.lab.Client, m.ObjectMeta)
	j.must(err)
	said := conditions.GetMessage(m, infrav1.BootstrapSucceededCondition)
	return strings.Contains(conditions.GetMessage(machine, clusterv1.ReadyCondition), "* BootstrapConfigReady: "+said)
}

// kubectl is the real one, as a person has it.
func (j *joins) kubectl(ctx context.Context, args ...string) string {
	j.Helper()
	command := exec.CommandContext(ctx, filepath.Join(j.lab.Programs(), "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+j.lab.Management.KubeconfigFile)
	out, err := command.CombinedOutput()
	if err != nil {
		j.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func lineOf(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, word+" ") {
			return line
		}
	}
	return ""
}

// over says whether the machine has joined, if that is what it is to do, or has failed.
func (p provoked) over(m *infrav1.WindowsMachine) bool {
	if p.soft {
		return m.Status.Phase == infrav1.PhaseRunning && m.Status.Bootstrap != nil && len(m.Status.Bootstrap.Warnings) > 0
	}
	return conditions.IsFalse(m, infrav1.BootstrapSucceededCondition)
}

func (j *joins) assertTold(m *infrav1.WindowsMachine, p provoked) {
	j.Helper()
	if p.soft {
		if !slices.ContainsFunc(m.Status.Bootstrap.Warnings, func(warning string) bool { return strings.HasPrefix(warning, p.says) }) {
			j.Errorf("%s: warnings are %q, want %q...", p.pool(), m.Status.Bootstrap.Warnings, p.says)
		}
		return
	}
	for _, kind := range []string{infrav1.BootstrapSucceededCondition, infrav1.ReadyCondition, infrav1.StalledCondition} {
		c := conditions.Get(m, kind)
		if c == nil || c.Reason != p.reason || !strings.Contains(c.Message, p.phase) || !strings.Contains(c.Message, p.says) {
			j.Errorf("%s: %s is %+v, want %s in phase %s with %q", p.pool(), kind, c, p.reason, p.phase, p.says)
		}
	}
	if got := m.Status.Bootstrap.ExitCode; got != p.exitCode {
		j.Errorf("%s: exit code %d, want %d", p.pool(), got, p.exitCode)
	}
}

func network(mode bootstrapv1.NetworkMode, cni bootstrapv1.CNI) bootstrapv1.WindowsBootstrapConfigSpec {
	spec := bootstrapv1.WindowsBootstrapConfigSpec{Network: bootstrapv1.Network{Mode: mode, CNI: cni}}
	if cni == bootstrapv1.CNIAntrea {
		prepareAntrea(&spec.Custom)
	}
	return spec
}

func faulty(faults guest.Faults) func(*guest.Simulated) {
	return func(g *guest.Simulated) { g.Faults = faults }
}

func throwing(door, message string) func(*guest.Simulated) {
	return faulty(guest.Faults{Throws: map[string]string{door: message}})
}

func image(change func(*windows.State)) func(*guest.Simulated) {
	return func(g *guest.Simulated) { g.Image = change }
}

// locked keys of the registry are those of a policy.
func locked(keys ...string) func(*guest.Simulated) { return faulty(guest.Faults{Locked: keys}) }

// atJoin meddles with `kubeadm join`.
func atJoin(instead func(*windows.Call) windows.Program) func(*guest.Simulated) {
	return running("kubeadm.exe", "join", instead)
}

// running meddles with a program where this is its first argument.
func running(program, argument string, instead func(*windows.Call) windows.Program) func(*guest.Simulated) {
	return faulty(guest.Faults{Instead: func(call *windows.Call) windows.Program {
		if windows.Base(call.Argv[0]) == program && len(call.Argv) > 1 && call.Argv[1] == argument {
			return instead(call)
		}
		return nil
	}})
}

// prints says something else than the program would.
func prints(text string) func(*windows.Call) windows.Program {
	return func(*windows.Call) windows.Program {
		return func(_ context.Context, call *windows.Call) int {
			call.Print("%s", text)
			return 0
		}
	}
}

// withFile puts a file where it is in the way.
func withFile(path, content string) func(*guest.Simulated) {
	return func(g *guest.Simulated) { g.Files = map[string]string{path: content} }
}

// withoutPodCIDRs is kubectl's answer where no controller gives Nodes a pod CIDR.
func withoutPodCIDRs(call *windows.Call) windows.Program {
	if !strings.Contains(call.Argv[len(call.Argv)-1], "podCIDRs") {
		return nil
	}
	return func(context.Context, *windows.Call) int { return 0 }
}

// withService adds a service to the image that starts with Windows.
func withService(name string, program windows.Program) func(*guest.Simulated) {
	return func(g *guest.Simulated) {
		path := `C:\more\` + name + ".exe"
		g.Programs = map[string]windows.Program{path: program}
		g.Image = func(s *windows.State) {
			s.Services[name] = &windows.Service{State: windows.Stopped, ImagePath: path}
			s.SetValue(windows.ServicesKey+`\`+name, "ImagePath", windows.Text(path))
			s.SetValue(windows.ServicesKey+`\`+name, "Start", windows.DWord(2))
		}
	}
}

// otherServer answers as an API server would, with a certificate of another CA.
func (j *joins) otherServer() string {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // those who do not trust it are many
	server.StartTLS()
	j.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// replaceToken leaves the machines of a pool with a token that the cluster does not know any more. One that is just gone
// would be put back.
func (j *joins) replaceToken(pool string) {
	ctx := j.Context()
	var secrets corev1.SecretList
	err := j.lab.WorkloadClient.List(ctx, &secrets, client.InNamespace(metav1.NamespaceSystem))
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if !strings.Contains(string(secret.Data["description"]), lab.Namespace+"/"+pool+"-") {
			continue
		}
		secret.Data["token-secret"] = []byte("0123456789abcdef")
		err = j.lab.WorkloadClient.Update(ctx, secret)
	}
	if err != nil {
		j.Errorf("replace token: %v", err)
	}
}

// takeName lets another machine have the name.
func (j *joins) takeName(name string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := j.lab.WorkloadClient.Create(j.Context(), node)
	if err == nil {
		status := client.RawPatch("application/merge-patch+json",
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}`))
		err = j.lab.WorkloadClient.Status().Patch(j.Context(), node, status)
	}
	if err != nil {
		j.Errorf("take name: %v", err)
	}
}

const domainSecret = "domain"

// credentials to join machines to the domain.
func (j *joins) credentials(ctx context.Context) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: domainSecret}}
	secret.StringData = map[string]string{"username": "joiner", "password": "not-for-people"}
	j.must(j.lab.Client.Create(ctx, secret))
}

// refusedLabel is one that the workload cluster lets no Node have.
const refusedLabel = "example.com/refused"

// refuseLabel has the workload cluster refuse Nodes, as the policies of a company do.
func (j *joins) refuseLabel(ctx context.Context) {
	name := metav1.ObjectMeta{Name: "no-refused-label"}
	all := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes"}},
	}
	policy := admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: all}}},
		Validations: []admissionv1.Validation{
			{Expression: "!has(object.metadata.labels) || !('" + refusedLabel + "' in object.metadata.labels)"},
		},
	}
	binding := admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}
	j.must(j.lab.WorkloadClient.Create(ctx, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: policy}))
	j.must(j.lab.WorkloadClient.Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: binding}))
}

// withoutLease is a machine to which no DHCP server gives an address.
func withoutLease(s *windows.State) {
	for i := range s.Addresses {
		s.Addresses[i].Preferred = time.Now().Add(10000 * time.Hour)
	}
}
