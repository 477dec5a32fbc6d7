package main

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestAddonsImages: names alone on standard output, so that a program copies them; what is not among them is a note.
func TestAddonsImages(t *testing.T) {
	const (
		pool = "MachineDeployment default/blue-windows"
		cni  = "note: " + pool + ": the images of Calico itself are not listed; docs/air-gap.md names the command that prints them " +
			"for Calico\n"
		pause = "note: " + pool + ": spec.containerd.pauseImage is not set, so the pause image is the one that the machine's image " +
			"names and usually has; it is not listed\n"
		proxy   = "docker.io/sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess"
		agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"
	)
	withImages := calicoPool(t, "network: {mode: Overlay, cni: Calico}",
		"network: {mode: Overlay, cni: Calico}\n      containerd: {pauseImage: mcr.microsoft.com/oss/kubernetes/pause:3.10, "+
			"prepullImages: [mcr.microsoft.com/windows/nanoserver:ltsc2022]}")
	for name, c := range map[string]struct {
		input    string
		args     []string
		out, err string
	}{
		"of a file": {
			calicoPool(t), []string{"-f", "-"}, proxy + "\n" + agnhost + "\n", pause + cni,
		},
		"of a file that names images": {
			withImages,
			[]string{"-f", "-", "--csi-proxy"},
			proxy + "\nghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.1.2\nmcr.microsoft.com/oss/kubernetes/pause:3.10\n" +
				"mcr.microsoft.com/windows/nanoserver:ltsc2022\n" + agnhost + "\n",
			cni,
		},
		"with their copies": {
			calicoPool(t),
			[]string{"-f", "-", "--registry", "registry.example.com"},
			proxy + " registry.example.com/sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess\n" +
				agnhost + " registry.example.com/e2e-test-images/agnhost:2.63.0\n",
			pause + cni,
		},
	} {
		expect.Same(t, name, ended{exitDone, c.out, c.err}, call(t, c.input, append([]string{"addons", "--images"}, c.args...)...))
	}
	byFlags := call(t, "", "addons", "--images", "--mode", "Overlay", "--cni", "Flannel", "--kubernetes-version", "v1.36.3")
	expect.Same(t, "of flags, without a Cluster", agnhost+"\n", byFlags.Out)
}
