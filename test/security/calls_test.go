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

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// What ten machines cost their workload cluster until each has its user data, counted at the cluster's door.
func TestCallsOfAPool(t *testing.T) {
	shared.Namespace(t, world.Start{})
	const machines = 10
	behind := expect.Got(rest.TransportFor(shared.Management.Config))(t)
	target := expect.Got(url.Parse(shared.Management.Config.Host))(t)
	door := httputil.NewSingleHostReverseProxy(target)
	door.Transport = behind
	server := newPeer(t, true, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Authorization")
		door.ServeHTTP(w, r)
	})
	n := newTenant(t)
	n.writes(t, kubeconfig(fields{"server": server.URL, "certificate-authority-data": server.ca()}, fields{"token": "own"}))
	var pool []*world.Machine
	for i := range machines {
		m := n.NewMachine(fmt.Sprintf("m-%d", i))
		m.Core.Labels["cluster.x-k8s.io/watch-filter"] = filter
		m.Windows.Labels["cluster.x-k8s.io/watch-filter"] = filter
		m.Config.Labels["cluster.x-k8s.io/watch-filter"] = filter
		m.Create(t)
		pool = append(pool, m)
	}
	for _, m := range pool {
		m.Await(t, "user data", world.Config("DataSecretAvailable True DataSecretAvailable"), world.Tokens(1))
	}
	calls := map[string]int{}
	_, heard := server.all()
	for _, line := range heard {
		calls[call(t, line)]++
	}
	t.Logf("calls to the workload cluster of %d machines: %v", machines, calls)
	// A token is made once and looked at whenever its config is; each manager reads the Nodes and the Service of cluster DNS once in
	// a few seconds, and kubeadm's three ConfigMaps once in a minute, of which a busy machine may need two.
	most := map[string]int{
		"POST secrets": machines, "GET secrets": 10 * machines,
		"GET nodes": machines, "GET services": machines, "GET configmaps": 2 * 2 * 3,
	}
	for made, times := range calls {
		// The rest is the work of the keeper of the policies, which does not grow with the machines: of one kind it has at most four
		// objects, and on a busy machine it looks at them, or tries them, twice.
		limit, ok := most[made]
		if ok && times > limit || !ok && (times > 2*4 || !byKeeper.MatchString(made)) {
			t.Errorf("%s was called %d times", made, times)
		}
	}
	if calls["POST secrets"] != machines {
		t.Errorf("%d tokens were made", calls["POST secrets"])
	}
}

// byKeeper are the calls of the keeper of the policies. It writes nothing but the policies and their param.
var byKeeper = regexp.MustCompile(`^((GET|PATCH|WATCH) (mutating|validating)admissionpolic(ies|ybindings)|PATCH configmaps|` +
	`TRY configmaps|GET version|WATCH (configmaps|daemonsets|deployments|nodes|runtimeclasses|services|statefulsets))$`)

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
