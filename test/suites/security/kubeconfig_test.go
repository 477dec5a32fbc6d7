package security

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// filter is on the objects that the built managers look after; other tests run controllers of their own.
const filter = "built"

// managers are our two, built and run as users get them, until the world ends.
var managers = sync.OnceValues(func() ([]servers.Manager, error) {
	return servers.StartManagers(context.Background(), shared.Management, "--watch-filter="+filter)
})

// tenant is a namespace whose objects the built managers look after. Who has it may write all that is in it.
type tenant struct{ *world.Namespace }

// newTenant waits until the Cluster is in use, as it would be when its tenant changes the kubeconfig.
func newTenant(t *testing.T) tenant {
	t.Helper()
	return newTenantOf(t, nil)
}

// newTenantOf is a tenant with another workload cluster than the world's own.
func newTenantOf(t *testing.T, cluster *world.Workload) tenant {
	t.Helper()
	n := tenant{shared.Namespace(t, world.Start{
		Credentials: map[string][]byte{"server": []byte("vcenter.invalid")}, Workload: cluster,
	})}
	expect.Got(managers())(t)
	wait.Eventually(t, "the Cluster to be connected", func(ctx context.Context) error {
		if !conditions.IsTrue(n.Cluster(ctx, t), clusterv1.ClusterRemoteConnectionProbeCondition) {
			return errors.New("there is none")
		}
		return nil
	})
	return n
}

// writes puts a kubeconfig in the place of the Cluster's, and returns the one that was there. Without its label, Cluster API does
// not find the Secret any more (its core/setup/setup.go). With it, Cluster API would use the kubeconfig, too, as soon as it
// connects anew to a cluster that refused it or answered too slowly; what it makes of a tenant's kubeconfig is not ours.
func (n tenant) writes(t *testing.T, kubeconfig []byte) (before []byte) {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: n.Name, Name: world.ClusterName + "-kubeconfig"}
	expect.OK(t, n.Client.Get(t.Context(), key, secret))
	before = secret.Data["value"]
	delete(secret.Labels, clusterv1.ClusterNameLabel)
	secret.Data["value"] = kubeconfig
	expect.OK(t, n.Client.Update(t.Context(), secret))
	return before
}

// machines make a machine with a config, and one that brings its own data: each controller needs the workload cluster for one.
func (n tenant) machines(t *testing.T) (m, own *world.Machine) {
	t.Helper()
	m, own = n.NewMachine("m"), n.NewMachine("own")
	for _, o := range []client.Object{m.Core, m.Windows, m.Config, own.Core, own.Windows, own.Config} {
		o.GetLabels()[clusterv1.WatchLabel] = filter
	}
	data := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: "own"}}
	data.Data = map[string][]byte{"value": []byte("x")}
	expect.OK(t, n.Client.Create(t.Context(), data))
	own.Core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: &data.Name}
	m.Create(t)
	own.CreateWithoutConfig(t)
	return m, own
}

// fields are those of a cluster or a user of a kubeconfig.
type fields map[string]any

// but changes some fields, and leaves those out that are to be nil.
func (f fields) but(changed fields) fields {
	f = maps.Clone(f)
	maps.Copy(f, changed)
	maps.DeleteFunc(f, func(_ string, value any) bool { return value == nil })
	return f
}

func kubeconfig(cluster, user fields) []byte {
	text, err := json.Marshal(fields{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []fields{{"name": "c", "cluster": cluster}},
		"users":    []fields{{"name": "u", "user": user}},
		"contexts": []fields{{"name": "c", "context": fields{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// theft is a kubeconfig that makes use of what is the manager's.
type theft struct {
	tries string
	// cluster and user are what the kubeconfig has besides a good server, its CA and a token; nil leaves a field out.
	cluster, user fields
	// blamed is the field that the condition must name.
	blamed string
}

// files are of the manager's, as its token is in a Pod.
func files(t *testing.T) (token, certificate, key string) {
	t.Helper()
	dir := t.TempDir()
	token, certificate, key = filepath.Join(dir, "token"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	login := shared.Management.Config
	contents := map[string][]byte{token: []byte("THE-MANAGERS-OWN-TOKEN"), certificate: login.CertData, key: login.KeyData}
	for name, content := range contents {
		expect.OK(t, os.WriteFile(name, content, 0o600))
	}
	return token, certificate, key
}

// Every field of a kubeconfig with which a tenant could use what is the manager's.
func TestKubeconfigs(t *testing.T) {
	t.Parallel()
	shared.Namespace(t, world.Start{}) // skips the test where there are no servers
	token, certificate, key := files(t)
	touched := filepath.Join(t.TempDir(), "touched")
	login := shared.Management.Config
	plain := newPeer(t, false, nil)
	program := fields{
		"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": []string{touched}, "interactiveMode": "Never",
	}
	for _, kind := range [][]theft{{
		{"sends the manager's token from a file", nil, fields{"token": nil, "tokenFile": token}, "user.tokenFile"},
		{"sends the manager's token beside a token of their own", nil, fields{"tokenFile": token}, "user.tokenFile"},
		{
			"logs in with a certificate of the manager's", nil,
			fields{"token": nil, "client-certificate": certificate, "client-key": key},
			"user.client-certificate",
		},
		{
			"logs in with a key of the manager's", nil,
			fields{"token": nil, "client-certificate-data": login.CertData, "client-key": key},
			"user.client-key",
		},
		{
			"asks whether a file of the manager is a CA",
			fields{"certificate-authority-data": nil, "certificate-authority": certificate},
			nil, "cluster.certificate-authority",
		},
		{
			"makes the management cluster their workload cluster, with the manager's token",
			fields{"server": "https://kubernetes.default.svc", "certificate-authority-data": nil, "certificate-authority": certificate},
			fields{"token": nil, "tokenFile": token},
			"cluster.certificate-authority",
		},
		{
			"makes the management cluster their workload cluster, with its CA and the manager's token",
			fields{"server": login.Host, "certificate-authority-data": login.CAData},
			fields{"token": nil, "tokenFile": token},
			"user.tokenFile",
		},
	}, {
		{"runs a program in the manager", nil, fields{"token": nil, "exec": program}, "user.exec"},
		{"runs a program in the manager beside a token", nil, fields{"exec": program}, "user.exec"},
		{"uses a login plug-in", nil, fields{"auth-provider": fields{"name": "oidc"}}, "user.auth-provider"},
	}, {
		{"has the manager call any address through a proxy", fields{"proxy-url": plain.URL}, nil, "cluster.proxy-url"},
		{
			"has the manager call any address through a SOCKS proxy",
			fields{"proxy-url": "socks5://" + plain.Listener.Addr().String()},
			nil, "cluster.proxy-url",
		},
		{
			"has any server trusted",
			fields{"insecure-skip-tls-verify": true, "certificate-authority-data": nil},
			nil,
			"cluster.insecure-skip-tls-verify",
		},
		{"has the system's CAs trusted", fields{"certificate-authority-data": nil}, nil, "certificate-authority-data"},
	}, {
		{"has credentials sent in clear text", fields{"server": plain.URL}, nil, "cluster.server"},
		{"has a server without a scheme asked in clear text", fields{"server": plain.Listener.Addr().String()}, nil, "cluster.server"},
		{"has another protocol spoken", fields{"server": "file:///etc/passwd"}, nil, "cluster.server"},
		{"hides a password in the URL", fields{"server": "https://user:password@127.0.0.1:1"}, nil, "cluster.server"},
		{"hides a query in the URL", fields{"server": "https://127.0.0.1:1/?x="}, nil, "cluster.server"},
	}, {
		{"logs in with a user and a password", nil, fields{"token": nil, "username": "admin", "password": "x"}, "user.username"},
		{"logs in with a password alone", nil, fields{"password": "x"}, "user.password"},
	}, {
		{"acts as another user", nil, fields{"as": "system:admin"}, "user.as"},
		{"acts as another user by its UID", nil, fields{"as-uid": "0"}, "user.as-uid"},
		{"acts as a member of another group", nil, fields{"as-groups": []string{"system:masters"}}, "user.as-groups"},
		{"acts with another user's attributes", nil, fields{"as-user-extra": fields{"scopes": []string{"all"}}}, "user.as-user-extra"},
	}, {
		{"splits a header with a token", nil, fields{"token": "x\r\nX-Remote-User: admin"}, "user.token"},
		{"has the manager ask without credentials", nil, fields{"token": nil}, "user.token"},
		{"leaves out the key of a certificate", nil, fields{"client-certificate-data": login.CertData}, "user.client-certificate-data"},
		{
			"has a huge key read", nil,
			fields{"client-certificate-data": login.CertData, "client-key-data": bytes.Repeat([]byte("x"), 9<<10)},
			"user.client-key-data",
		},
		{
			"writes a CA that is not a certificate",
			fields{"certificate-authority-data": []byte("x")},
			nil,
			"cluster.certificate-authority-data",
		},
	}} {
		var attacks []attack
		for _, a := range kind {
			attacks = append(attacks, attack{"tenant", a.tries, func(t *testing.T) string {
				t.Parallel()
				verdict := a.play(t)
				plain.silent(t)
				if _, err := os.Stat(touched); err == nil {
					t.Error("a program ran")
				}
				return verdict
			}})
		}
		attemptKind(t, attacks...)
	}
}

func (a theft) play(t *testing.T) string {
	t.Helper()
	listener := newPeer(t, true, nil)
	good := fields{"server": listener.URL, "certificate-authority-data": listener.ca()}
	verdict := refused(t, kubeconfig(good.but(a.cluster), fields{"token": "the-tenants-own"}.but(a.user)), a.blamed)
	listener.silent(t)
	return verdict
}

// Texts that are no kubeconfigs, or too much of one.
func TestKubeconfigTexts(t *testing.T) {
	t.Parallel()
	aliases := "a: &a [" + strings.Repeat("x,", 100) + "]\nb: &b [" + strings.Repeat("*a,", 100) + "]\n" +
		"c: [" + strings.Repeat("*b,", 100) + "]\n"
	wrong := func(tries string, text []byte, field string) attack {
		return attack{"tenant", tries, func(t *testing.T) string {
			t.Parallel()
			return refused(t, text, field)
		}}
	}
	attemptKind(t,
		wrong("fills the manager's memory with aliases", []byte("apiVersion: v1\nkind: Config\n"+aliases), "value"),
		wrong("fills the manager's memory with short entries", []byte("contexts: ["+strings.Repeat("{},", 80_000)+"]"), "value"),
		wrong("has a very long kubeconfig read", append(kubeconfig(nil, nil), bytes.Repeat([]byte(" "), 300<<10)...), "value"),
		wrong("nests lists without end", bytes.Repeat([]byte("["), 100<<10), "value"))
	attemptKind(t,
		wrong("writes binary data instead of a kubeconfig", []byte("\x00\xff token: SECRET"), "value"),
		wrong("writes an empty kubeconfig", nil, "value"),
		wrong("names a context that does not exist", []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\n"), "current-context"))
}

// refused plays a kubeconfig to the built managers and waits until both tell what is wrong with it.
func refused(t *testing.T, kubeconfig []byte, field string) (verdict string) {
	t.Helper()
	n := newTenant(t)
	n.writes(t, kubeconfig)
	m, own := n.machines(t)
	config := m.Await(t, "refusal", world.Config("Ready Unknown KubeconfigRefused"), world.Config("Stalled True KubeconfigRefused"))
	windows := own.Await(t, "refusal",
		world.Windows("Ready False KubeconfigRefused"), world.Windows("Stalled True KubeconfigRefused"))
	for _, object := range []conditions.Getter{config.Config, windows.Windows} {
		message := conditions.GetMessage(object, "Ready")
		if !strings.Contains(message, field+" ") || strings.Contains(message, "SECRET") || len(message) > 300 {
			t.Errorf("the condition of %T says %q, which should name %s", object, message, field)
		}
	}
	if config.Data != nil || len(config.Tokens) > 0 || len(config.Config.Finalizers) > 0 {
		t.Errorf("something was made:\n%s", config)
	}
	return "refused: KubeconfigRefused names " + field
}

// A tenant mends the kubeconfig, and the machine goes on. What the current context does not use has no effect.
func TestKubeconfigMended(t *testing.T) {
	t.Parallel()
	shared.Namespace(t, world.Start{})
	token, _, _ := files(t)
	attempt(t, attack{"tenant", "names a file of the manager in a context that is not used", func(t *testing.T) string {
		t.Parallel()
		n := newTenant(t)
		good := n.writes(t, kubeconfig(fields{"server": "https://127.0.0.1:1"}, fields{"tokenFile": token}))
		m, _ := n.machines(t)
		m.Await(t, "refusal", world.Config("Ready Unknown KubeconfigRefused"))
		n.writes(t, []byte(strings.Replace(string(good), "users:\n", "users:\n- name: other\n  user:\n    tokenFile: "+token+"\n", 1)))
		m.Await(t, "user data", world.Config("DataSecretAvailable True DataSecretAvailable"), world.Config("Stalled False NotStalled"),
			world.Tokens(1))
		return "the mended kubeconfig is used, without that context"
	}})
}
