package machines

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// generatedCount is how many machines the generator makes.
const generatedCount = 40

// draft is the input of a rendering while it is drawn.
type draft struct {
	random *rand.Rand
	bootstrap.Input
	ca     string
	traits []string
}

// Generated are machines that are drawn, always the same ones: each network of each cloud in turn, with as many other traits as a
// machine can have. The certificates are those of bootstrap/testdata below root.
func Generated(root string) ([]Machine, error) {
	ca, err := os.ReadFile(filepath.Join(root, "bootstrap", "testdata", "ca.crt"))
	if err != nil {
		return nil, err
	}
	var all []Machine
	for number := range generatedCount {
		machine, err := generate(number, string(ca))
		if err != nil {
			return nil, err
		}
		all = append(all, machine)
	}
	return all, nil
}

// generate draws until the draft is one that Render takes: two traits may exclude each other.
func generate(number int, ca string) (Machine, error) {
	random := rand.New(rand.NewPCG(uint64(number), 7)) //nolint:gosec // because every run must see the same machines
	name := fmt.Sprintf("generated-%02d", number)
	var refused error
	for range 200 {
		d := newDraft(random, ca, number)
		if err := d.draw(number); err != nil {
			return Machine{}, fmt.Errorf("%s: %w", name, err)
		}
		userData, err := bootstrap.Render(d.Input)
		if err == nil {
			return Machine{Name: name, UserData: userData.Bytes(), Plan: userData.Plan(), Traits: d.traits}, nil
		}
		if _, invalid := errors.AsType[*bootstrap.InvalidError](err); !invalid {
			return Machine{}, fmt.Errorf("%s: %w", name, err)
		}
		refused = err
	}
	return Machine{}, fmt.Errorf("%s: no draft was taken, at last: %w", name, refused)
}

// newDraft is the plainest of machines.
func newDraft(random *rand.Rand, ca string, number int) *draft {
	name := fmt.Sprintf("win-%s", letters(random, "abcdefghijklmnopqrstuvwxyz0123456789", 9))
	d := &draft{random: random, ca: ca}
	d.Cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "green"},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "api.green.example.com", Port: 6443}},
	}
	uid := types.UID(fmt.Sprintf("0b6f2f0e-52b0-4a5c-9d53-%012d", number))
	d.Machine = &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: uid},
		Spec:       clusterv1.MachineSpec{Version: pick(random, "v1.36.3", "v1.36.3", "v1.30.14", "v1.33.5", "v1.37.1", "v1.35.4")},
	}
	d.WindowsMachine = &infrav1.WindowsMachine{
		Spec: infrav1.WindowsMachineSpec{
			ProviderID: "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11", VSphere: &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384},
		},
		Status: infrav1.WindowsMachineStatus{ComputerName: name},
	}
	d.Config = &bootstrapv1.WindowsBootstrapConfig{}
	d.ClusterCA = []byte(ca)
	d.Token = letters(random, tokenLetters, 6) + "." + letters(random, tokenLetters, 16)
	d.Sources = map[string][]byte{}
	return d
}

// tokenLetters leave out vowels, so that no secret is a word.
const tokenLetters = "bcdfghjklmnpqrstvwxz0123456789"

// draw gives the draft its network, then two traits of five.
func (d *draft) draw(number int) error {
	network := networks[number%len(networks)]
	if err := network.apply(d); err != nil {
		return err
	}
	for _, trait := range traits {
		if (network.azure && trait.cloud == vSphere) || (!network.azure && trait.cloud == azure) {
			continue
		}
		if d.random.IntN(5) >= 2 {
			continue
		}
		d.traits = append(d.traits, trait.name)
		if err := trait.apply(d); err != nil {
			return err
		}
	}
	return nil
}

// spec puts YAML into the config's spec: lists and scalars replace what was there.
func (d *draft) spec(text string) error {
	if err := yaml.UnmarshalStrict([]byte(text), &d.Config.Spec); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// source puts a text where the spec refers to it.
func (d *draft) source(name, text string) { d.Sources[name] = []byte(text) }

func pick(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

func letters(random *rand.Rand, alphabet string, count int) string {
	all := []rune(alphabet)
	var text strings.Builder
	for range count {
		text.WriteRune(all[random.IntN(len(all))])
	}
	return text.String()
}

// password is one with what quoting stumbles over, and what no code page of Windows has.
func (d *draft) password() string {
	text := letters(d.random, tokenLetters, 8) + letters(d.random, "\"'`$%&;|<>()[]{}\\ !#", 5) + letters(d.random, tokenLetters, 9)
	if d.random.IntN(3) == 0 {
		text += letters(d.random, "\u00e9\u00df\u20ac\u4e2d\u0130\u2028", 3) + letters(d.random, tokenLetters, 9)
	}
	return text
}

// lines are a secret of several lines.
func (d *draft) lines(count int) string {
	var text strings.Builder
	for range count {
		fmt.Fprintf(&text, "key-%s = %s%s", letters(d.random, tokenLetters, 5), d.password(), pick(d.random, "\n", "\r\n"))
	}
	return text.String()
}
