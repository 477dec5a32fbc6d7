package bootstrap_test

import (
	"regexp"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// What programs of images really write must give the fact that the checks compare.
func TestProgramVersions(t *testing.T) {
	p := render(t, plainInput(t, withRegistries)).Plan()
	for _, test := range []struct{ step, output, want string }{
		{"kubeadm-version", "v1.36.3\n", "1.36"},
		{"kubeadm-version", "v1.34.2+vmware.1\n", "1.34"},
		{"kubelet-version", "Kubernetes v1.36.3\n", "1.36"},
		{"kubelet-version", "Kubernetes v1.37.0-rc.0\n", "1.37"},
		{"kubelet-patch-version", "Kubernetes v1.37.0-rc.0\n", "1.37.0"},
		{"kubelet-patch-version", "Kubernetes v1.34.12+vmware.1\n", "1.34.12"},
		{"containerd-version", "containerd github.com/containerd/containerd v1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182\n", "1.7"},
		{
			"containerd-version", "containerd github.com/containerd/containerd/v2 v2.3.2 1c4457e00facac03ce1d75f7b6777a7a851e5c41\n",
			"2.3",
		},
		{"containerd-version", "containerd github.com/containerd/containerd 1.6.38 \n", "1.6"},
		{
			"pause-image",
			"version = 3\r\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\r\n    sandbox = 'registry.k8s.io/pause:3.10.2'\r\n",
			"registry.k8s.io/pause:3.10.2",
		},
		{
			"pause-image", "sandboxer = 'podsandbox'\n    sandbox_image = \"mcr.microsoft.com/oss/kubernetes/pause:3.9\"\n",
			"mcr.microsoft.com/oss/kubernetes/pause:3.9",
		},
		{"settings-in-effect", "imports = []\n\n[timeouts]\n  capwin = '1s'\n  'io.containerd.timeout.bolt.open' = '0s'\n", "capwin"},
		{
			"registries-folder",
			"    [plugins.'io.containerd.cri.v1.images'.registry]\r\n      config_path = 'C:\\ProgramData\\containerd\\certs.d'\r\n",
			`C:\ProgramData\containerd\certs.d`,
		},
		{"pause-image-there", "REF TYPE DIGEST SIZE PLATFORMS LABELS \n\n", "LABELS"},
		{
			"pause-image-there",
			"REF\tTYPE\tLABELS\t\r\nregistry.k8s.io/pause:3.10.2 application/x sha256:1 1 MiB windows/amd64 -\r\n",
			"LABELS\t\r\nregistry.k8s.io/pause:3.10.2 application/x sha256:",
		},
		{
			"pause-image-there", "REF TYPE DIGEST SIZE PLATFORMS LABELS \ntime=\"2026\" level=warning msg=\"a word on the side\"\n",
			"LABELS",
		},
	} {
		match := regexp.MustCompile("(?i)" + stepOf[*plan.Fact](t, p, test.step).Match).FindStringSubmatch(test.output)
		if len(match) != 2 || strings.TrimSpace(match[1]) != test.want {
			t.Errorf("%s of %q is %q, want %q", test.step, test.output, match, test.want)
		}
	}
}

// Another patch than the Machine's is a warning: the node works.
func TestPatchVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.36.3": "1.36.3", "v1.36.3+vmware.1": "1.36.3", "1.36.10": "1.36.10"} {
		check := stepOf[*plan.Check](t, render(t, plainInput(t, ofVersion(version))).Plan(), "kubelet-patch-of-image")
		if got := check.Is.String(); got != want || !check.Optional || check.Reason != step.ReasonImageVersionMismatch {
			t.Errorf("%s: %+v, want %s", version, check, want)
		}
	}
}

// Drop-ins are written in containerd's third version of its configuration.
func TestContainerdVersion(t *testing.T) {
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"nothing said": {nil, "1.7"}, "images alone": {containerd(`prepullImages: ['a.example.com/b:1']`), "1.7"},
		"registries": {withRegistries, "2.0"}, "pause image": {withImages, "2.0"},
		"drop-ins": {withDropIns, "2.0"}, "Hyper-V": {withHyperV, "2.0"},
		"1.30": {ofVersion("v1.30.14"), "1.7"}, "1.37": {ofVersion("v1.37.2"), "1.7"},
		"1.38": {ofVersion("v1.38.0-alpha.1"), "2.0"}, "later": {ofVersion("v1.40.0"), "2.0"},
	} {
		p := render(t, plainInput(t, test.change)).Plan()
		if got := stepOf[*plan.Check](t, p, "containerd-of-image").AtLeast.String(); got != test.want {
			t.Errorf("%s: at least %s, want %s", name, got, test.want)
		}
	}
}

// From 1.38 on the kubelet refuses containerd 1.x; two minor versions before, the node warns.
func TestContainerdOfTheNextVersion(t *testing.T) {
	for version, warns := range map[string]bool{"v1.35.9": false, "v1.36.0-rc.0": true, "v1.37.2": true, "v1.38.0": false} {
		warned := false
		for _, check := range every[*plan.Check](render(t, plainInput(t, ofVersion(version))).Plan()) {
			warned = warned || check.Name == "containerd-of-next-image" && check.Optional && check.AtLeast.String() == "2.0"
		}
		if warned != warns {
			t.Errorf("%s: warned of containerd 1.x is %t", version, warned)
		}
	}
}

func withNested(wanted infrav1.NestedVirtualization) change {
	return func(in *bootstrap.Input) { in.WindowsMachine.Spec.VSphere.NestedVirtualization = wanted }
}

// Where the spec says that no hypervisor can run, no VM is made.
func TestIsolationNeedsNestedVirtualization(t *testing.T) {
	refuse(t, []mistake{{
		"nested", "containerd.hyperVIsolation", all(withHyperV, withNested(infrav1.NestedVirtualizationDisabled)),
		"spec.vsphere.nestedVirtualization of the WindowsMachine is Disabled",
	}})
	render(t, plainInput(t, withNested(infrav1.NestedVirtualizationDisabled)))
}

// A small machine is warned of here when its size is known, and by the node itself in any case.
func TestWarningsOfTheMachine(t *testing.T) {
	for name, test := range map[string]struct {
		change change
		says   string
		asks   bool
	}{
		"plain":                    {nil, "", false},
		"little memory":            {ofSize(2, 6144), "WindowsMachine spec.vsphere.memoryMiB: 6144 leaves Pods little", true},
		"just enough":              {ofSize(2, 8192), "", false},
		"isolation":                {withHyperV, "spec.containerd.hyperVIsolation: the VM needs nested virtualization", false},
		"isolation in a VM for it": {all(withHyperV, withNested(infrav1.NestedVirtualizationEnabled)), "", false},
		"isolation on Azure":       {all(onAzure, withHyperV), "spec.containerd.hyperVIsolation: the VM needs nested", true},
		"low memory": {
			all(withLowMemory, reserved(`system: {memory: 1Gi}`)), "spec.reservations.lowMemoryPolicy: a node with less", false,
		},
		"time of a domain": {all(withTime, withDomainJoin), "spec.windows.ntpServers: a member of a domain takes its time from", false},
		"time":             {withTime, "", false},
		"size unknown":     {ofTemplateSize, "", true},
		"newest version":   {ofVersion("v1.37.1"), "", false},
		"log that grows": {
			ofVersion("v1.33.5"),
			`Machine spec.version: the kubelet does not rotate its log before v1.34: kubelet.log in C:\var\log\kubelet grows`, false,
		},
		"log elsewhere": {
			at("v1.30.0", kubelet(`log: {directory: 'C:\logs'}`)),
			`kubelet.log in C:\logs grows until the disk is full; use v1.34 or later`, false,
		},
		"log that rotates": {ofVersion("v1.34.0"), "", false},
		"unknown version":  {ofVersion("v1.38.0"), "Machine spec.version: v1.38.0 is newer than v1.37", false},
	} {
		userData := render(t, plainInput(t, test.change))
		if got := strings.Join(userData.Warnings(), "\n"); (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
			t.Errorf("%s: warns %q, want %q", name, got, test.says)
		}
		asks := false
		for _, step := range every[plan.Step](userData.Plan()) {
			asks = asks || step.Base().Name == "memory" && step.Base().Optional
		}
		if asks != test.asks {
			t.Errorf("%s: the node looks at its memory: %t", name, asks)
		}
	}
}
