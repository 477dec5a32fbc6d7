package security

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	canaries "github.com/capwin/cluster-api-provider-windows/test/kit/canary"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// flockSize is the number of machines among which the awkward values are dealt out. A config has room for one proxy and one
// domain, so that these have as many values.
const flockSize = 10

// flockInputs are the secrets of a machine in the flock: whether a config has many of them, and whether the user data has them.
var flockInputs = map[string]struct{ many, used bool }{
	"user of the proxy":         {used: true},
	"password of the proxy":     {used: true},
	"user of the domain":        {used: true},
	"password of the domain":    {used: true},
	"user of a registry":        {many: true, used: true},
	"password of a registry":    {many: true, used: true},
	"text around a CA":          {many: true},
	"text around registry's CA": {many: true},
	"file":                      {many: true, used: true},
	"file with bytes":           {many: true, used: true},
	"script before the join":    {many: true, used: true},
	"script after the join":     {many: true, used: true},
	"drop-in of containerd":     {many: true, used: true},
	"key that nothing names":    {many: true},
}

// flockValues are the values of one machine: every tenth.
func flockValues(number int) []string {
	var dealt []string
	for i, name := range append(canaries.Values(), canaries.Long) {
		if i%flockSize == number {
			dealt = append(dealt, name)
		}
	}
	return dealt
}

// flockMachine is one machine of the flock, with its Secrets.
type flockMachine struct {
	name    string
	values  []string
	spec    bootstrapv1.WindowsBootstrapConfigSpec
	secrets map[string]map[string][]byte
}

// start makes the machines whose configs refer to awkward secrets, and waits until their VMs run.
func (a *aviary) start(t *testing.T) []*world.Machine {
	t.Helper()
	ca := string(expect.Got(os.ReadFile("../../../bootstrap/testdata/ca.crt"))(t))
	var all []*world.Machine
	for number := range flockSize {
		planned := flockMachine{
			name: fmt.Sprintf("flock-%d", number), values: flockValues(number), secrets: map[string]map[string][]byte{},
		}
		planned.fill(ca)
		for name, data := range planned.secrets {
			a.createSecret(t, name, data)
		}
		for input, about := range flockInputs {
			for i, value := range planned.values {
				if i == 0 || about.many {
					a.flock.Add(input, value)
				}
			}
		}
		m := a.NewMachine(planned.name)
		m.Config.Spec = planned.spec
		m.Create(t)
		all = append(all, m)
	}
	for _, m := range all {
		m.Await(t, "running VM", world.Windows("Ready True "+infrav1.RunningReason), world.Tokens(1))
	}
	return all
}

// fill writes the spec and the Secrets.
func (f *flockMachine) fill(ca string) {
	f.spec.Windows = bootstrapv1.Windows{
		Proxy:  bootstrapv1.Proxy{HTTP: "http://proxy.example.com:3128", CredentialsRef: f.login("proxy", "the proxy", f.values[0])},
		Domain: bootstrapv1.Domain{Name: "corp.example.com", CredentialsRef: f.login("domain", "the domain", f.values[0])},
	}
	custom, containerd := &f.spec.Custom, &f.spec.Containerd
	for i, value := range f.values {
		name := fmt.Sprintf("own-%d", i)
		custom.Files = append(custom.Files,
			bootstrapv1.CustomFile{Path: `C:\app\` + name, ContentFrom: f.key("file", value, "", "")})
		if value == canaries.Long {
			continue // there is no room for more of it
		}
		custom.Files = append(custom.Files,
			bootstrapv1.CustomFile{Path: `C:\app\bytes-` + name, ContentFrom: f.key("file with bytes", value, "\x00\xff", "")})
		f.spec.Windows.TrustedCertificates = append(f.spec.Windows.TrustedCertificates,
			bootstrapv1.TrustedCertificate{Name: name, ContentFrom: f.key("text around a CA", value, "", "\n"+ca)})
		f.key("key that nothing names", value, "", "")
		containerd.Registries = append(containerd.Registries, bootstrapv1.Registry{
			Host: name + ".example.com", CredentialsRef: f.login(fmt.Sprintf("registry-%d", i), "a registry", value),
			CAFrom: f.key("text around registry's CA", value, "", "\n"+ca),
		})
		custom.PreJoin = append(custom.PreJoin,
			bootstrapv1.CustomScript{
				Name: name, ContentFrom: f.key("script before the join", value, "exit 0 # ", ""), TimeoutSeconds: 9,
			})
		custom.PostJoin = append(custom.PostJoin,
			bootstrapv1.CustomScript{
				Name: name, ContentFrom: f.key("script after the join", value, "exit 0 # ", ""), TimeoutSeconds: 9,
			})
		containerd.DropIns = append(containerd.DropIns,
			bootstrapv1.ContainerdDropIn{Name: name, ContentFrom: f.key("drop-in of containerd", value, "a = '''", "'''")})
	}
}

// login is a Secret with a user and a password.
func (f *flockMachine) login(name, whose, value string) bootstrapv1.SecretReference {
	name = f.name + "-" + name
	f.secrets[name] = map[string][]byte{
		"username": []byte(canaries.Of("user of "+whose, value)), "password": []byte(canaries.Of("password of "+whose, value)),
	}
	return bootstrapv1.SecretReference{Name: name}
}

// key is a key of the machine's Secret.
func (f *flockMachine) key(input, value, before, after string) bootstrapv1.ContentSource {
	name := f.name + "-app"
	if f.secrets[name] == nil {
		f.secrets[name] = map[string][]byte{}
	}
	key := fmt.Sprintf("key-%d", len(f.secrets[name]))
	f.secrets[name][key] = []byte(before + canaries.Of(input, value) + after)
	return bootstrapv1.ContentSource{Secret: bootstrapv1.KeyReference{Name: name, Key: key}}
}

// inTheMiddle is a part of user data that is packed: its end has words that are elsewhere, too, such as ExecutionPolicy.
func inTheMiddle(data []byte) canary { return canary(data[len(data)/2 : len(data)/2+100]) }

// noteData makes canaries of the machines' tokens and of what their user data has, and checks that this has the awkward secrets.
func (a *aviary) noteData(t *testing.T, flock []*world.Machine) {
	t.Helper()
	values := map[string]map[string]bool{}
	for _, m := range flock {
		s := m.Load(t)
		a.canaries["bootstrap token of "+m.Key.Name] = canary(s.Tokens[0].Data[bootstrapapi.BootstrapTokenSecretKey])
		data := s.Data.Data["value"]
		if len(data) < 1000 {
			t.Fatalf("the user data has %d bytes", len(data))
		}
		a.canaries["user data of "+m.Key.Name] = inTheMiddle(data)
		for whose := range a.flock.In(string(expect.Got(scripts.Plan(data))(t))) {
			value, input, _ := strings.Cut(whose, " in the ")
			if values[input] == nil {
				values[input] = map[string]bool{}
			}
			values[input][value] = true
		}
	}
	for _, input := range slices.Sorted(maps.Keys(flockInputs)) {
		about := flockInputs[input]
		least := flockSize - 1 // one value is too short to be found
		if about.many {
			least = len(canaries.Values()) - 1
		}
		if found := len(values[input]); about.used && found < least || !about.used && found > 0 {
			t.Errorf("%d values of the %s are in the user data: the test shows nothing", found, input)
		}
	}
}
