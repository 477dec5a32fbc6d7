package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// refusedLine is what the audit has of a request that was refused to our manager.
func refusedLine(t *testing.T, agent, resource string) string {
	t.Helper()
	account := expect.Got(renderComponent(Infrastructure))(t).account()
	return fmt.Sprintf(`{"verb":"get","requestURI":"/api/v1/%[2]s","userAgent":%[1]q,`+
		`"user":{"username":"system:serviceaccount:%[3]s:%[4]s"},`+
		`"objectRef":{"resource":%[2]q},"responseStatus":{"code":403}}`+"\n", agent, resource, account.Namespace, account.Name)
}

// TestAuditOfAGuest: who shares a cluster is blamed for what was refused to it and to the managers that it started, and for
// nothing that was refused to others.
func TestAuditOfAGuest(t *testing.T) {
	dir := t.TempDir()
	log, kubeconfig := filepath.Join(dir, "audit.log"), filepath.Join(dir, "kubeconfig")
	expect.OK(t, os.WriteFile(log, []byte(refusedLine(t, "test-a-1", "pods")+refusedLine(t, "test-a-10", "nodes")+
		refusedLine(t, ManagerAgent, "endpoints")+refusedLine(t, Stolen, "services")), 0o600))
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	expect.OK(t, clientcmd.WriteToFile(*config, kubeconfig))
	join := func(agent string) *Management {
		return expect.Got(JoinManagement(Binaries{}, filepath.Join(dir, agent),
			Shared{KubeconfigFile: kubeconfig, AuditLog: log}, Guest{Agent: agent}))(t)
	}
	refused := func(m *Management) string {
		return strings.Join(expect.Got(m.Audit())(t).Refused, "\n")
	}
	one, ten := join("test-a-1"), join("test-a-10")
	expect.Same(t, "of the first", "infrastructure: get pods (/api/v1/pods)", refused(one))
	expect.Same(t, "of another", "infrastructure: get nodes (/api/v1/nodes)", refused(ten))
	ten.guest.managers.Store(true)
	expect.Same(t, "of one that started managers",
		"infrastructure: get nodes (/api/v1/nodes)\ninfrastructure: get endpoints (/api/v1/endpoints)", refused(ten))
	strange := expect.Got(one.AuditOf(func(agent string) bool { return agent == "test-a-1" }))(t)
	expect.Same(t, "of those that are chosen", 1, len(strange.Refused))
}

// TestStarts: each program that starts has a line, whichever process starts it, and the sum counts API servers and managers.
func TestStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	t.Setenv(StartsVariable, file)
	for _, name := range []string{"etcd", "kube-apiserver", "capi-core", "capwin-bootstrap"} {
		expect.OK(t, NoteStart(name))
	}
	here := expect.Got(os.Getwd())(t)
	text := string(expect.Got(os.ReadFile(file))(t))
	text += "kube-apiserver\t/elsewhere\nkube-apiserver\t" + filepath.Dir(here) + "\nipam-in-cluster\t/elsewhere\n"
	expect.Same(t, "sum", "started: 3 API servers (1 in ., 1 in ./servers, 1 in /elsewhere), 3 managers (all programs: "+
		"1 capi-core, 1 capwin-bootstrap, 1 etcd, 1 ipam-in-cluster, 3 kube-apiserver)", Starts(text, filepath.Dir(here)))
	t.Setenv(StartsVariable, "")
	expect.OK(t, NoteStart("etcd"))
}
