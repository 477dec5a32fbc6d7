//go:build cloudbaseinit

package cloudbaseinit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const token = "abcdef.0123456789abcdef"

// product is one machine as the controllers would make it, and what it must come to.
type product struct {
	machine
	userData   []byte
	computer   string
	instanceID string
	boots      int
}

// ours are machines of both clouds with all golden plans, and some whose loader does not end well: to cloudbase-init that
// must be the same.
func ours(t *testing.T) []product {
	t.Helper()
	named := map[string]map[string]source{
		onVSphere: {
			"blue-win-x7k2p": rendered(nil),
			"a-long-cluster-name-md-0-windows-2022-abcde-x7k2p": rendered(withLabels),
			"blue.win.example": rendered(func(in *bootstrap.Input) { in.Machine.Spec.Version = "v1.30.14" }),
		},
		onAzure: {"blue-az-x7k2p": rendered(nil), "blue-az-labels": rendered(withLabels)},
	}
	golden := goldens(t)
	all := cloned(t, named[onVSphere], golden[onVSphere])
	for _, sources := range []map[string]source{named[onAzure], golden[onAzure]} {
		for name, data := range sources {
			all = append(all, provisioned(t, name, data))
		}
	}
	for _, p := range all {
		if strings.HasPrefix(p.Name, "golden") {
			continue
		}
		p.Name += ", loader fails"
		p.ExitCode, p.Stdout = 1, "CAPWIN state=Failed phase=loader reason=LoaderFailed at line 9: IOException\r\n"
		all = append(all, p)
	}
	return all
}

// provisioned is a machine that Azure makes: custom data arrives as the bytes they were, and Windows has its name already.
func provisioned(t *testing.T, name string, userData source) product {
	t.Helper()
	object := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}}
	object.Spec.Azure = &infrav1.AzureVM{VMSize: "Standard_D4s_v5"}
	object.Spec.ProviderID = "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/" + name
	const computer = "blue-az-x7k2p"
	object.Status.ComputerName = computer
	data := userData(t, object)
	return product{
		machine: machine{
			Name: name, Cloud: onAzure, ComputerName: computer, HostName: computer, InstanceID: "id-of-" + name, CustomData: data,
			Stdout: "CAPWIN uid=1 state=Running phase=join reason=\r\n",
		},
		userData: data, computer: computer, instanceID: "id-of-" + name, boots: 2,
	}
}

func render(t *testing.T, object *infrav1.WindowsMachine, change func(*bootstrap.Input)) []byte {
	t.Helper()
	ca := expect.Got(os.ReadFile("../../../bootstrap/testdata/ca.crt"))(t)
	in := bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "blue"},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: object.Name, UID: types.UID("uid-" + object.Name)},
			Spec:       clusterv1.MachineSpec{Version: "v1.36.3"},
		},
		WindowsMachine: object, Config: &bootstrapv1.WindowsBootstrapConfig{}, ClusterCA: ca, Token: token,
	}
	if change != nil {
		change(&in)
	}
	data := expect.Got(bootstrap.Render(in))(t)
	return data.Bytes()
}

// withLabels has values that would be something to cloudbase-init, were they anywhere but in the plan.
func withLabels(in *bootstrap.Input) {
	in.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"example.com/script": "powershell"}
	in.Config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{
		{Key: "example.com/multipart", Value: "Content-Type", Effect: corev1.TaintEffectNoExecute},
	}
}

func TestUserDataIsTakenAsMeant(t *testing.T) {
	t.Parallel()
	all := ours(t)
	for _, r := range slices.Concat(releases, others) {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			products := all
			if slices.Contains(others, r) {
				products = unlike(all)
			}
			var machines []machine
			for _, p := range products {
				machines = append(machines, p.machine)
			}
			for i, o := range play(t, r, machines) {
				t.Run(products[i].Cloud+"/"+o.Name, func(t *testing.T) { check(t, products[i], o) })
			}
		})
	}
}

// unlike are the plainest, the largest and the odd ones. To cloudbase-init, the other golden plans differ in size only.
func unlike(all []product) []product {
	return slices.DeleteFunc(slices.Clone(all), func(p product) bool {
		return strings.HasPrefix(p.Name, "golden-") && !strings.HasPrefix(p.Name, "golden-everything")
	})
}

func check(t *testing.T, p product, o outcome) {
	t.Helper()
	if len(o.Boots) != p.boots {
		t.Errorf("%d boots, want %d, the last of them unasked", len(o.Boots), p.boots)
	}
	for i, b := range o.Boots {
		if b.Error != "" || len(b.Left) > 0 {
			t.Errorf("boot %d: error %q, files left: %v", i, b.Error, b.Left)
		}
		if len(b.Network) > 0 {
			t.Errorf("boot %d: cloudbase-init sets the network: %v", i, b.Network)
		}
		if wrong := complaints.FindAllString(b.Log, -1); len(wrong) > 0 {
			t.Errorf("boot %d: cloudbase-init complains: %q", i, wrong)
		}
	}
	checkSize(t, p)
	checkMetadata(t, p)
	checkScript(t, p, o.processes())
	checkMarks(t, p, o)
	checkHealth(t, p, o.Boots)
	if !strings.Contains(o.said(), strings.TrimSpace(p.Stdout)) {
		t.Error("the loader's line is not in the log, so the log is not the whole log")
	}
	checkSecrets(t, p, o.said()+string(o.processes()[0].Script))
}

var complaints = regexp.MustCompile(`(?m)^.* (WARNING|ERROR|CRITICAL) .*$`)

// One batch file, constant but for the folder's name, and beside it three files that are ours to the byte; nothing else at
// any boot.
func checkScript(t *testing.T, p product, all []process) {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d programs were run, want one: %v", len(all), all)
	}
	inside := expect.Got(scripts.Plan(p.userData))(t)
	sum := sha256.Sum256(inside)
	folder := `C:\Windows\Temp\capwin-` + hex.EncodeToString(sum[:])[:16]
	batch := "rem cmd\r\n" +
		`@set "PATH=%SystemRoot%\Sysnative\WindowsPowerShell\v1.0;%PATH%"` + "\r\n" +
		`@powershell.exe -NoProfile -NonInteractive -ExecutionPolicy RemoteSigned -File "` + folder + `\loader.ps1"` + "\r\n" +
		`@rd /s /q "` + folder + `"` + "\r\n"
	expect.Same(t, "the batch file", batch, string(all[0].Script))
	expect.Same(t, "the files before it runs,", map[string]written{
		folder + `\agent.ps1`:  {[]byte(scripts.Agent()), 0o600},
		folder + `\loader.ps1`: {[]byte(scripts.Loader()), 0o600},
		folder + `\plan.json`:  {inside, 0o600},
	}, all[0].Files)
	line := regexp.MustCompile(`^/\S+/[0-9a-f-]{36}\.cmd$`)
	if got := strings.Join(all[0].Args, " "); !all[0].Shell || !line.MatchString(got) {
		t.Errorf("command line: %s", got)
	}
}

// The name as it was meant, and the marks under our instance id that keep every plugin from running again.
func checkMarks(t *testing.T, p product, o outcome) {
	t.Helper()
	if got := o.last().ComputerName; got != p.computer || len(got) > 15 {
		t.Errorf("the computer is called %q, want %q", got, p.computer)
	}
	marks := o.Registry[`SOFTWARE\Cloudbase Solutions\Cloudbase-Init\`+p.instanceID+`\Plugins`]
	if len(o.Registry) != 1 || marks["UserDataPlugin"] != 1.0 || marks["SetHostNamePlugin"] != 1.0 {
		t.Errorf("marks in the registry: %v", o.Registry)
	}
	if !strings.Contains(o.said(), "Instance id: "+p.instanceID) {
		t.Errorf("the instance id is not %s", p.instanceID)
	}
}

// Azure always hears that all went well: failures are for our own reports.
func checkHealth(t *testing.T, p product, boots []boot) {
	t.Helper()
	for i, b := range boots {
		if p.Cloud == onVSphere {
			continue
		}
		if told(b.Health) != "Provisioning, Ready" {
			t.Errorf("boot %d: Azure hears %q", i, b.Health)
		}
	}
}

// Neither the token, nor what the plan itself calls a secret, nor a piece of what carries them: base64 of gzip is easily
// undone.
func checkSecrets(t *testing.T, p product, said string) {
	t.Helper()
	carried := expect.Got(plan.Decode(expect.Got(scripts.Plan(p.userData))(t)))(t)
	for _, secret := range append(carried.Redact, token, token[7:], base64.StdEncoding.EncodeToString([]byte(token))) {
		if strings.Contains(said, secret) {
			t.Errorf("a secret of %d letters is logged", len(secret))
		}
	}
	for _, part := range pieces(p.userData) {
		if strings.Contains(said, part) {
			t.Fatalf("the plan is logged: %q", part)
		}
	}
}

// pieces are those of the plan's blob, of 40 letters: of any 80 letters in a row, 40 are one.
func pieces(userData []byte) []string {
	_, blob, _ := strings.Cut(string(userData), `plan.json'`)
	blob, _, _ = strings.Cut(blob, "runcmd:")
	var all []string
	for line := range strings.Lines(blob) {
		if strings.Contains(line, ":") {
			continue // the head of the file
		}
		for piece := range slices.Chunk([]byte(strings.TrimSpace(line)), 40) {
			if len(piece) == 40 {
				all = append(all, string(piece))
			}
		}
	}
	return all
}
