package remote

import (
	"context"
	"errors"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What a user needs of an error: cmd/clusterctl-windows has the calls that end with them.
func TestReasons(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	const look = "; look at the address in --kubeconfig FILE"
	s := expect.Got(New(&rest.Config{Host: "https://u:p@h"}, "--kubeconfig FILE"))(t)
	for want, err := range map[string]error{
		"it has not answered within 8s" + look:         context.DeadlineExceeded,
		"lookup h" + look:                              &url.Error{Op: "Get", URL: "https://u:p@h", Err: &silentError{"lookup h"}},
		"it has not answered within 8s; look":          &url.Error{Op: "Get", URL: "h", Err: context.DeadlineExceeded},
		"it answers with a redirect" + look:            &url.Error{Err: &apiserver.Error{Why: "answers with a redirect"}},
		"\"vcenter\" is forbidden: not you":            apierrors.NewForbidden(secrets, "vcenter", errors.New("not you")),
		"it does not accept the login of --kubeconfig": apierrors.NewUnauthorized("Unauthorized"),
	} {
		expect.Says(t, want, s.Reason(err), want)
	}
	expect.Same(t, "none", nil, s.Reason(nil))
}

func TestAddressesHaveNoPassword(t *testing.T) {
	for host, want := range map[string]string{
		"https://10.0.0.10:6443": "https://10.0.0.10:6443", "https://u:canary@h": "https://u:xxxxx@h", "\x01": "of the kubeconfig",
	} {
		expect.Same(t, host, want, (&Server{config: &rest.Config{Host: host}}).String())
	}
}

// TestBadConfigs: a kubeconfig may have what nobody can be asked by, and an address by which nobody should be.
func TestBadConfigs(t *testing.T) {
	const plain = "is plain HTTP, by which anybody on the way reads your login and writes the answers"
	for want, config := range map[string]*rest.Config{
		"--context c: ":          {Host: "https://h", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}},
		"http://10.0.0.1:8080 ":  {Host: "http://10.0.0.1:8080"},
		"http://10.0.0.2:8080 ":  {Host: "10.0.0.2:8080"}, // as client-go completes it where there is no CA
		"http://localhost.evil ": {Host: "http://localhost.evil"},
	} {
		_, err := New(config, "--context c")
		expect.Says(t, config.Host, err, want)
		if config.CAData == nil {
			expect.Says(t, config.Host, err, plain)
		}
	}
	for _, host := range []string{"http://127.0.0.1:8001", "http://localhost:8001", "http://[::1]:8001", "https://10.0.0.1", ""} {
		_, err := New(&rest.Config{Host: host}, "--context c")
		expect.OK(t, err)
	}
}
