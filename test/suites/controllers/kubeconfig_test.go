package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestKubeconfigRefused takes the good kubeconfig from a Cluster that has machines: one whose Node has joined does not need it,
// and one that boots goes on and tells what to mend.
func TestKubeconfigRefused(t *testing.T) {
	s := ready(t)
	joined, _ := s.running(t)
	boots := s.machine("boots")
	boots.Create(t)
	boots.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed, world.Tokens(1))
	expect.OK(t, s.process.Stop())
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.Name, Name: world.ClusterName + "-kubeconfig"}
	expect.OK(t, s.Client.Get(t.Context(), key, secret))
	good := secret.Data["value"]
	write := func(kubeconfig []byte) {
		world.Change(t, s.Client, secret, func(secret *corev1.Secret) { secret.Data["value"] = kubeconfig })
	}
	write([]byte("apiVersion: v1\nkind: Config\n"))

	s.start(t)
	s.look(t, joined)
	joined.Await(t, "the same", world.Windows("Ready True Running"), world.Config("Ready True Joined"),
		world.Config("Stalled False NotStalled"))
	boots.Await(t, "refusal", world.Config("Stalled True KubeconfigRefused"), world.Config("Ready Unknown WaitingForGuest"),
		world.Windows("Ready True Running"), world.Windows("Stalled False NotStalled"))
	joined.End(t)

	write(good)
	boots.Await(t, "mended kubeconfig", world.Config("Stalled False NotStalled"), world.Tokens(1))
	boots.End(t)
}
