package security

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	canaries "github.com/capwin/cluster-api-provider-windows/test/kit/canary"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// Every secret that our managers read is a canary here: a text that is nowhere else. Machines live and fail with them while the
// managers print as much as they may; then all that people other than the owner of a Secret can see is searched for each.
func TestCanaries(t *testing.T) {
	t.Parallel()
	aviary := newAviary(t)
	seen := aviary.live(t)
	for where := range maps.Keys(seen) {
		attempt(t, attack{by: "operator", tries: "searches " + where + " for secrets", try: func(t *testing.T) string {
			for name, canary := range aviary.canaries {
				if form := canary.found(seen[where]); form != "" {
					t.Errorf("%s is in %s, as %s", name, where, form)
				}
			}
			for whose, part := range aviary.flock.In(linesOnce(seen[where])) {
				t.Errorf("%q of %s is in %s", part, whose, where)
			}
			return fmt.Sprintf("%d secrets are not in it, in %d forms, nor are %d parts of awkward ones, in %d KiB",
				len(aviary.canaries), forms, aviary.flock.Len(), len(seen[where])>>10)
		}})
	}
}

// linesOnce leaves out the lines that are there already, as most are in profiles.
func linesOnce(text string) string {
	seen := map[string]bool{}
	var once strings.Builder
	for line := range strings.Lines(text) {
		if !seen[line] {
			seen[line] = true
			once.WriteString(line)
		}
	}
	return once.String()
}

// aviary is a namespace with secrets, two managers that look after it, and the one who looks at them.
type aviary struct {
	*world.Namespace
	canaries map[string]canary
	flock    canaries.Search // those with awkward characters and lengths
	managers []*servers.Observed
	kubectl  func(t *testing.T, arguments ...string) string
	watcher  string // its token
}

func newAviary(t *testing.T) *aviary {
	t.Helper()
	n := shared.Namespace(t, world.Start{})
	a := &aviary{Namespace: n, canaries: map[string]canary{}, flock: canaries.Search{Window: 10}}
	a.canaries["password of the vCenter"] = canary(vcenter.Password)
	maps.Copy(a.canaries, kubeconfigKeys(t, n.Management.KubeconfigFile))
	for name, data := range a.secrets() {
		a.createSecret(t, name, data)
	}
	a.watcher = a.logInWatcher(t)
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	cache := t.TempDir()
	a.kubectl = func(t *testing.T, arguments ...string) string {
		t.Helper()
		flags := []string{"--kubeconfig", n.Management.KubeconfigFile, "--cache-dir", cache, "-n", n.Name}
		output, err := exec.Command(binaries.Path("kubectl"), append(flags, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", arguments, err, output)
		}
		return string(output)
	}
	return a
}

func (a *aviary) createSecret(t *testing.T, name string, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.Name, Name: name}, Data: data}
	expect.OK(t, a.Client.Create(t.Context(), secret))
}

// secrets are those that wrong machines refer to.
func (a *aviary) secrets() map[string]map[string][]byte {
	return map[string]map[string][]byte{
		// What people paste into the wrong place.
		"wrong-password": a.wrong("password", a.hatch("wrong password")),
		"wrong-server":   a.wrong("server", append(append([]byte("https://me:"), a.hatch("password in a URL")...), "@127.0.0.1"...)),
		"wrong-ca":       {"ca.crt": append([]byte("-----BEGIN PRIVATE KEY-----\n"), a.hatch("key instead of a CA")...)},
		"wrong-login":    {"username": []byte("me"), "passphrase": a.hatch("password under another key")},
	}
}

func (a *aviary) wrong(key string, value []byte) map[string][]byte {
	data := map[string][]byte{
		"server": []byte("127.0.0.1:1"), "username": []byte("me"), "password": []byte("unused"),
		"thumbprint": []byte(strings.Repeat("ab", 32)),
	}
	data[key] = value
	return data
}

// hatch makes a canary with all awkward characters around it.
func (a *aviary) hatch(name string) []byte {
	c := newCanary()
	a.canaries[name] = c
	const awkward = "\"\\<&>'$`%\t漢🔑://u:p@{\"a\":\" "
	return []byte(awkward + string(c) + awkward)
}

// live runs all machines and returns what was seen, by where.
func (a *aviary) live(t *testing.T) map[string]string {
	t.Helper()
	v := vcenter.New(t)
	a.SetCredentials(t, v.Credentials())
	a.Change(t, "wrong-password", v.Credentials())
	azure, flags := startAzure(t)
	a.managers = expect.Got(servers.Observe(t.Context(), a.Management, a.Name, azureSpeed, append(flags, "--v=7")...))(t)
	t.Cleanup(func() {
		for _, manager := range a.managers {
			if log := expect.Got(manager.Printed())(t); t.Failed() {
				t.Logf("the %s manager said at last:\n%s", manager.Component, log[max(0, len(log)-3000):])
			}
		}
	})
	seen := map[string]string{}
	wrong := a.startWrong(t)
	inAzure, refusedInAzure := a.startInAzure(t)
	flock := a.start(t)
	joins, fails := flock[0], flock[1]
	a.noteData(t, flock)
	a.report(t, v, joins, `{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"}}`)
	a.report(t, v, fails, `{"version":1,"state":"Failed","phase":{"index":1,"of":5,"name":"prepare"},`+
		`"failure":{"reason":"StepFailed","step":"write file","message":"it is full"}}`)
	a.liveInAzure(t, azure, inAzure, refusedInAzure)
	joins.Join(t)
	joins.Await(t, "joined", world.Windows("BootstrapSucceeded True "+infrav1.JoinedReason))
	fails.Await(t, "failure", func(s world.State) string {
		if have := world.ConditionOf(s.Windows, "BootstrapSucceeded"); !strings.HasPrefix(have, "BootstrapSucceeded False") {
			return "it has " + have
		}
		return ""
	})
	for _, w := range wrong {
		w.Await(t, "refusal", func(s world.State) string {
			windows, config := world.ConditionOf(s.Windows, "Ready"), world.ConditionOf(s.Config, "Ready")
			if !refusals[windows] && !refusals[config] {
				return windows + ", " + config
			}
			return ""
		})
	}
	a.look(t, seen)
	for _, m := range slices.Concat(wrong, flock, []*world.Machine{inAzure, refusedInAzure}) {
		m.End(t)
	}
	a.look(t, seen)
	for _, manager := range a.managers {
		a.endings(t, manager, seen)
	}
	return seen
}

// refusals end the wait for what is wrong.
var refusals = map[string]bool{
	"Ready False " + infrav1.CredentialsRejectedReason:     true,
	"Ready False " + infrav1.CredentialsMissingReason:      true,
	"Ready Unknown " + bootstrapv1.WaitingForSourcesReason: true,
	"Ready Unknown " + bootstrapv1.ConfigInvalidReason:     true,
}

// Change replaces what a Secret says of the vCenter, but for its password.
func (a *aviary) Change(t *testing.T, name string, credentials map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.Name, Name: name}}
	world.Change(t, a.Client, secret, func(s *corev1.Secret) {
		s.Data = maps.Clone(credentials)
		delete(s.Data, "password")
	})
}

// startWrong makes machines whose Secrets have mistakes with secrets in them.
func (a *aviary) startWrong(t *testing.T) []*world.Machine {
	t.Helper()
	var all []*world.Machine
	add := func(name string, change func(*world.Machine)) {
		m := a.NewMachine(name + "-user") // the Secret of its own name is that with its user data
		change(m)
		m.Create(t)
		all = append(all, m)
	}
	for _, name := range []string{"wrong-password", "wrong-server"} {
		add(name, func(m *world.Machine) { m.Windows.Spec.IdentityRef.Name = name })
	}
	secret := func(name, key string) bootstrapv1.ContentSource {
		return bootstrapv1.ContentSource{Secret: bootstrapv1.KeyReference{Name: name, Key: key}}
	}
	add("wrong-ca", func(m *world.Machine) {
		m.Config.Spec.Windows.TrustedCertificates = []bootstrapv1.TrustedCertificate{
			{Name: "company", ContentFrom: secret("wrong-ca", "ca.crt")},
		}
	})
	add("wrong-login", func(m *world.Machine) {
		m.Config.Spec.Windows.Proxy = bootstrapv1.Proxy{
			HTTP: "http://proxy.example.com:3128", CredentialsRef: bootstrapv1.SecretReference{Name: "wrong-login"},
		}
	})
	return all
}

func (a *aviary) report(t *testing.T, v *vcenter.VCenter, m *world.Machine, report string) {
	t.Helper()
	v.Owner(t).SetExtra(m.Load(t).Windows.Status.ComputerName, "guestinfo.capwin.report", report)
}

// look adds what a user of the namespace sees, and what metrics and diagnostics say.
func (a *aviary) look(t *testing.T, seen map[string]string) {
	t.Helper()
	kinds := "windowsmachines,windowsbootstrapconfigs,windowsmachinetemplates,windowsbootstrapconfigtemplates," +
		"machines,clusters,events"
	seen["kubectl get -o yaml"] += a.kubectl(t, "get", kinds, "-o", "yaml")
	seen["kubectl get -o wide"] += a.kubectl(t, "get", kinds, "-o", "wide")
	seen["kubectl describe"] += a.kubectl(t, "describe", kinds)
	for _, manager := range a.managers {
		address := strings.TrimSuffix(manager.Metrics, "/metrics")
		seen["metrics"] += a.ask(t, http.MethodGet, manager.Metrics, "", http.StatusOK)
		for _, page := range []string{"goroutine?debug=2", "heap?debug=1", "allocs?debug=1", "cmdline"} {
			seen["pprof"] += a.ask(t, http.MethodGet, address+"/debug/pprof/"+page, "", http.StatusOK)
		}
		a.ask(t, http.MethodPut, address+"/debug/flags/v", "9", http.StatusBadRequest)
		a.ask(t, http.MethodPut, address+"/debug/flags/v", "7", http.StatusOK)
	}
	if len(seen["metrics"]) < 1000 || !strings.Contains(seen["kubectl describe"], "WindowsMachine") {
		t.Errorf("saw too little: %d bytes of metrics", len(seen["metrics"]))
	}
}

// endings are the logs, and what Go prints when a manager is told to dump its stacks.
func (a *aviary) endings(t *testing.T, manager *servers.Observed, seen map[string]string) {
	t.Helper()
	log := expect.Got(manager.Printed())(t)
	expect.OK(t, manager.Quit(t.Context()))
	all := expect.Got(manager.Printed())(t)
	seen["the log of the "+manager.Component+" manager at -v=7"] = log
	seen["the goroutine dump of the "+manager.Component+" manager"] = all[len(log):]
	if !strings.Contains(all[len(log):], "goroutine 1 ") || !strings.Contains(log, "/api/v1/namespaces/"+a.Name+"/secrets/") {
		t.Errorf("the %s manager printed too little", manager.Component)
	}
}

// logInWatcher makes an account that may read metrics and diagnostics, and change the verbosity.
func (a *aviary) logInWatcher(t *testing.T) (token string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.Name, Name: "watcher"}}
	name := metav1.ObjectMeta{Name: a.Name + "-watcher"}
	role := &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{NonResourceURLs: []string{"/metrics", "/debug/*"}, Verbs: []string{"get", "put"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.Name, Name: account.Name}},
	}
	expect.OK(t, a.Client.Create(t.Context(), account))
	expect.OK(t, a.Client.Create(t.Context(), role))
	expect.OK(t, a.Client.Create(t.Context(), binding))
	return expect.Got(a.Management.LogIn(t.Context(), account))(t).BearerToken
}

func (a *aviary) ask(t *testing.T, method, url, body string, want int) string {
	t.Helper()
	request := expect.Got(http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body)))(t)
	request.Header.Set("Authorization", "Bearer "+a.watcher)
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // because the manager makes its own certificate
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	expect.OK(t, err)
	defer func() { expect.Fine(t, response.Body.Close()) }()
	text := expect.Got(io.ReadAll(response.Body))(t)
	if response.StatusCode != want {
		t.Errorf("%s %s answers %d, want %d: %s", method, url, response.StatusCode, want, text)
	}
	return string(text)
}
