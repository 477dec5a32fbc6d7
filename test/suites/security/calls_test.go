package security

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// What thirty machines cost their workload cluster until each has its user data, counted at the cluster's door, beside what one
// machine costs another cluster in the same time: what a manager does by the clock costs both the same, on a busy machine, too.
func TestCallsOfAPool(t *testing.T) {
	stories.Begin(t)
	shared.Namespace(t, world.Start{})
	const machines = 30
	cluster := world.Fresh(t)
	one, many := newCounted(t, cluster), newCounted(t, cluster)
	for _, m := range append(one.pool(t, 1), many.pool(t, machines)...) {
		m.Await(t, "user data", world.Config("DataSecretAvailable True DataSecretAvailable"), world.Tokens(1))
	}
	alone, calls := one.calls(t), many.calls(t)
	t.Logf("calls to the workload cluster of one machine: %v", alone)
	t.Logf("calls to the workload cluster of %d machines: %v", machines, calls)
	expect.Same(t, "tokens made for one machine", 1, alone["POST secrets"])
	expect.Same(t, "tokens made", machines, calls["POST secrets"])
	for made, times := range calls {
		// A token is looked at whenever its config is. All else does not grow with the machines; but the two clusters are not looked
		// at in the same moment, and who comes first writes the policies. A call for each machine would be 29 more.
		limit := 2*alone[made] + 9
		if strings.HasSuffix(made, " secrets") {
			limit = machines * (alone[made] + 5)
		} else if !byManagers.MatchString(made) {
			limit = 0
		}
		if times > limit {
			t.Errorf("%s was called %d times, want at most %d", made, times, limit)
		}
	}
}

// counted is a tenant whose workload cluster counts what is asked of it.
type counted struct {
	tenant
	door *peer
}

func newCounted(t *testing.T, cluster *world.Workload) counted {
	t.Helper()
	behind := expect.Got(rest.TransportFor(cluster.Config))(t)
	target := expect.Got(url.Parse(cluster.Config.Host))(t)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = behind
	door := newPeer(t, true, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Authorization")
		proxy.ServeHTTP(w, r)
	})
	n := newTenantOf(t, cluster)
	n.writes(t, kubeconfig(fields{"server": door.URL, "certificate-authority-data": door.ca()}, fields{"token": "own"}))
	return counted{n, door}
}

func (c counted) pool(t *testing.T, machines int) []*world.Machine {
	t.Helper()
	var pool []*world.Machine
	for i := range machines {
		m := c.NewMachine(fmt.Sprintf("m-%d", i))
		for _, o := range []client.Object{m.Core, m.Windows, m.Config} {
			o.GetLabels()[clusterv1.WatchLabel] = filter
		}
		m.Create(t)
		pool = append(pool, m)
	}
	return pool
}

func (c counted) calls(t *testing.T) map[string]int {
	t.Helper()
	calls := map[string]int{}
	_, heard := c.door.all()
	for _, line := range heard {
		calls[call(t, line)]++
	}
	return calls
}

// byManagers are the calls of managers besides those for Secrets. They write nothing but the policies.
var byManagers = regexp.MustCompile(`^((GET|POST|PUT) (mutating|validating)admissionpolic(ies|ybindings)|(GET|TRY) configmaps|` +
	`GET (clusterrolebindings|clusterroles|daemonsets|deployments|namespaces|nodes|runtimeclasses|services|statefulsets|version))$`)

// call is the method of a call that a peer has heard, and what it is about. A dry run writes nothing.
func call(t *testing.T, heard string) string {
	words := strings.Fields(heard)
	uri := expect.Got(url.Parse(words[1]))(t)
	method := words[0]
	switch {
	case uri.Query().Has("dryRun"):
		method = "TRY"
	case uri.Query().Has("watch"):
		method = "WATCH"
	}
	path := strings.Split(strings.Trim(uri.Path, "/"), "/")
	if i := slices.Index(path, "namespaces"); i >= 0 && len(path) > i+2 {
		return method + " " + path[i+2]
	}
	switch path[0] {
	case "api":
		path = path[2:]
	case "apis":
		path = path[3:]
	}
	return method + " " + path[0]
}
