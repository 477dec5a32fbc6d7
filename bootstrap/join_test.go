package bootstrap_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	kubeadmv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	kubeadm "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func joinText(t *testing.T, p *plan.Plan) string {
	t.Helper()
	return stepOf[*plan.File](t, p, "join-configuration").Text.String()
}

func joinConfiguration(t *testing.T, p *plan.Plan) *kubeadmv1.JoinConfiguration {
	t.Helper()
	return expect.Got(kubeadm.UnmarshalJoinConfiguration(joinText(t, p)))(t)
}

// pin is what kubeadm compares: the hash of the public key.
func pin(t *testing.T, data []byte) string {
	t.Helper()
	block, _ := pem.Decode(data)
	certificate := expect.Got(x509.ParseCertificate(block.Bytes))(t)
	key := expect.Got(x509.MarshalPKIXPublicKey(certificate.PublicKey))(t)
	digest := sha256.Sum256(key)
	return "sha256:" + hex.EncodeToString(digest[:])
}

func TestJoinConfiguration(t *testing.T) {
	p := render(t, plainInput(t, withLabels("a=1"))).Plan()
	got := joinConfiguration(t, p)
	got.NodeRegistration.Taints = nil                           // has its own test
	got.Discovery.BootstrapToken.UnsafeSkipCAVerification = nil // has its own test
	want := &kubeadmv1.JoinConfiguration{
		NodeRegistration: kubeadmv1.NodeRegistrationOptions{
			Name: "blue-win-x7k2p", CRISocket: "npipe:////./pipe/containerd-containerd",
			KubeletExtraArgs: []kubeadmv1.Arg{
				{Name: "cloud-provider", Value: new("external")},
				{Name: "windows-priorityclass", Value: new("ABOVE_NORMAL_PRIORITY_CLASS")},
				{Name: "node-labels", Value: new("a=1")},
			},
		},
		Discovery: kubeadmv1.Discovery{BootstrapToken: kubeadmv1.BootstrapTokenDiscovery{
			Token: testToken, APIServerEndpoint: "10.0.0.10:6443",
			CACertHashes: []string{pin(t, firstCA)},
		}},
		Patches: kubeadmv1.Patches{Directory: `C:\run\kubeadm\patches`},
	}
	expect.Same(t, "configuration", want, got)
}

// The configuration must be in the version that the Machine's kubeadm reads.
func TestJoinConfigurationVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.30.0": "v1beta3", "v1.30.14": "v1beta3", "v1.31.0": "v1beta4", "v1.36.3": "v1beta4", "v1.37.0-rc.0": "v1beta4",
	} {
		text := joinText(t, render(t, plainInput(t, ofVersion(version))).Plan())
		if !strings.Contains(text, `"apiVersion":"kubeadm.k8s.io/`+want+`"`) {
			t.Errorf("%s gets %s, want %s", version, text, want)
		}
	}
}

// While a CA is being replaced, either may have signed what the API server shows: pin both, look at neither beforehand.
func TestDiscoveryDuringRotation(t *testing.T) {
	p := render(t, plainInput(t, withCA(bothCAs))).Plan()
	want := []string{pin(t, firstCA), pin(t, secondCA)}
	expect.Same(t, "pins", want, joinConfiguration(t, p).Discovery.BootstrapToken.CACertHashes)
	for _, wait := range every[*plan.WaitFor](p) {
		if wait.CA != nil {
			t.Errorf("%s insists on one of two CAs", wait.Name)
		}
	}
}

// No input may make a node trust blindly.
func TestNeverUnsafe(t *testing.T) {
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		if text := joinText(t, p); strings.Contains(strings.ToLower(text), "unsafe") {
			t.Errorf("%s: %s", golden.name, text)
		}
		found := joinConfiguration(t, p).Discovery
		if len(found.BootstrapToken.CACertHashes) == 0 && found.File.KubeConfigPath == "" {
			t.Errorf("%s: no pins, and no file with a CA", golden.name)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for _, test := range []struct {
		name, reason, host string
		want               string
	}{
		{"IPv4", "as it is", "10.0.0.10", "10.0.0.10:6443"},
		{"IPv6", "brackets for kubeadm, none for a socket", "fd00::10", "[fd00::10]:6443"},
		{"name", "as it is", "api.example.com", "api.example.com:6443"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := render(t, plainInput(t, withEndpoint(test.host, 6443))).Plan()
			if got := joinConfiguration(t, p).Discovery.BootstrapToken.APIServerEndpoint; got != test.want {
				t.Errorf("kubeadm gets %s, want %s: %s", got, test.want, test.reason)
			}
			if got := stepOf[*plan.WaitFor](t, p, "api-server-identity"); got.Host.String() != test.host || got.Port.String() != "6443" {
				t.Errorf("waits for %s port %s: %s", got.Host, got.Port, test.reason)
			}
		})
	}
}

// A CA that did not sign itself can not be the end of a chain on the node.
func TestIntermediateCA(t *testing.T) {
	p := render(t, plainInput(t, withCA(mustRead("testdata/ca-intermediate.crt")))).Plan()
	for _, one := range every[plan.Step](p) {
		if one.Base().Reason == step.ReasonAPIServerCAMismatch {
			t.Errorf("%s builds a chain that ends elsewhere", one.Base().Name)
		}
	}
}
