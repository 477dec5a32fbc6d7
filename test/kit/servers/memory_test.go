package servers

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestMemory: the bound of one API server wins over that of all servers, and changes no other.
func TestMemory(t *testing.T) {
	for memory, want := range map[string]string{"": "GOMEMLIMIT=4GiB", "2GiB": "GOMEMLIMIT=2GiB"} {
		m := &Management{Config: &rest.Config{Host: "https://" + loopback}, memory: memory}
		m.servers = expect.Got(newGroup(t.TempDir()))(t)
		s := expect.Got(m.apiServer(1, ""))(t)
		expect.Same(t, "the last variable", want, s.env[len(s.env)-1])
	}
	expect.Same(t, "variables of all servers", []string{"GOGC=400", "GOMEMLIMIT=4GiB"}, leisurely)
}
