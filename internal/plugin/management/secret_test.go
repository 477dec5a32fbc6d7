package management

import (
	"context"
	"errors"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// What a user needs of an error: cmd/clusterctl-windows has the calls that end with them.
func TestReasons(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	const look = "; look at the address in the kubeconfig"
	for want, err := range map[string]error{
		"it is not there; name its namespace with -n": apierrors.NewNotFound(secrets, "vcenter"),
		"has not answered within 8s":                  context.DeadlineExceeded,
		"refused" + look:                              &url.Error{Op: "Get", URL: "https://u:p@h", Err: errors.New("refused")},
		"has not answered within 8s" + look:           &url.Error{Op: "Get", URL: "h", Err: context.DeadlineExceeded},
		"\"vcenter\" is forbidden: not you":           apierrors.NewForbidden(secrets, "vcenter", errors.New("not you")),
	} {
		expect.Says(t, want, reason(err), want)
	}
}

func TestAddressesHaveNoPassword(t *testing.T) {
	for host, want := range map[string]string{
		"https://10.0.0.10:6443": "https://10.0.0.10:6443", "https://u:canary@h": "https://u:xxxxx@h", "\x01": "of the kubeconfig",
	} {
		expect.Same(t, host, want, shown(host))
	}
}

// TestBadConfig: a kubeconfig may have what no client can be made of.
func TestBadConfig(t *testing.T) {
	config := &rest.Config{Host: "https://h", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}
	_, err := Secret(t.Context(), config, types.NamespacedName{Namespace: "a", Name: "b"})
	expect.Says(t, "config", err, "the Secret a/b is not in the files, and cannot be read from the cluster https://h: ")
}
