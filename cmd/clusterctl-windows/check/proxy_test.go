package check

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// child is set in a process of its own, because Go reads the address of the proxy once in a process.
const child = "CHECK_BEHIND_A_PROXY"

// TestBehindAProxy is what the process of its own does.
func TestBehindAProxy(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("this is for TestCloudsOfThisComputer")
	}
	fmt.Println(checkedBy(t, pool(1, whole("")), Options{AzureCloud: os.Getenv(child + "_CLOUD")}))
}

// TestCloudsOfThisComputer: the computer's identity is asked for in the cloud of the command line, or else in that of the
// environment, or else in the public one; nobody else is called.
func TestCloudsOfThisComputer(t *testing.T) {
	for name, c := range map[string]struct{ authority, named, want string }{
		"nothing":          {"", "", "login.microsoftonline.com:443"},
		"the environment":  {"https://login.microsoftonline.us/", "", "login.microsoftonline.us:443"},
		"without a slash":  {"https://login.chinacloudapi.cn", "", "login.chinacloudapi.cn:443"},
		"the command line": {"https://login.chinacloudapi.cn", "AzureUSGovernmentCloud", "login.microsoftonline.us:443"},
		"and not":          {"https://login.test", "AzurePublicCloud", "login.microsoftonline.com:443"},
	} {
		t.Run(name, func(t *testing.T) {
			asApp(t)
			var mu sync.Mutex
			var asked []string
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Host)
				w.WriteHeader(http.StatusBadGateway)
			}))
			defer proxy.Close()
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBehindAProxy$") //nolint:gosec // because it is this test
			run.Env = append(os.Environ(), "HTTPS_PROXY="+proxy.URL, "HTTP_PROXY="+proxy.URL, child+"=yes", child+"_CLOUD="+c.named,
				"AZURE_AUTHORITY_HOST="+c.authority)
			said := string(expect.Got(run.CombinedOutput())(t))
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(asked)
			expect.Same(t, "who is called, of which the check says "+said, []string{c.want}, slices.Compact(asked))
			if !strings.Contains(said, "gives no token for this computer's environment") {
				t.Errorf("it says %s", said)
			}
		})
	}
}

func queryOf(t *testing.T, address string) url.Values {
	t.Helper()
	return expect.Got(url.Parse(address))(t).Query()
}
