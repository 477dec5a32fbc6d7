package cost

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// scraper makes an account that may read metrics, and returns its token.
func (s *stage) scraper() string {
	s.t.Helper()
	name := s.Name + "-scraper"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name}}
	for _, o := range []client.Object{
		account,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Name, Name: name}},
		},
	} {
		expect.OK(s.t, s.Client.Create(s.t.Context(), o))
	}
	return expect.Got(shared.Management.LogIn(s.t.Context(), account))(s.t).BearerToken
}

// metric is the sum of all series of the infrastructure manager with this name and this label; 0 while it does not answer.
func (s *stage) metric(name, label string) float64 {
	s.t.Helper()
	i := slices.IndexFunc(s.managers, func(m servers.Manager) bool { return m.Component == servers.Infrastructure })
	return s.metricAt(s.managers[i].Metrics, name, label)
}

func (s *stage) metricAt(url, name, label string) (sum float64) {
	s.t.Helper()
	request := expect.Got(http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, http.NoBody))(s.t)
	request.Header.Set("Authorization", "Bearer "+s.scrape)
	anyCertificate := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // because a manager signs its own
	}
	defer anyCertificate.CloseIdleConnections()
	response, err := anyCertificate.RoundTrip(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	expect.Same(s.t, "status of the metrics", http.StatusOK, response.StatusCode)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if text := lines.Text(); strings.HasPrefix(text, name+"{") && strings.Contains(text, label) {
			sum += expect.Got(strconv.ParseFloat(text[strings.LastIndex(text, " ")+1:], 64))(s.t)
		}
	}
	return sum
}

// looks at machines that have ended.
func (s *stage) looks() int {
	return int(s.metric("controller_runtime_reconcile_total", `controller="windowsmachine"`))
}

// awaitCore waits until Cluster API's core manager has looked at all machines: on few processors it would keep ours from theirs.
func (s *stage) awaitCore() {
	s.t.Helper()
	s.await("Cluster API's look at each machine", func() string {
		looks := int(s.metricAt(shared.Management.CoreMetrics, "controller_runtime_reconcile_total", `controller="machine"`))
		queued := int(s.metricAt(shared.Management.CoreMetrics, "workqueue_depth", `name="machine"`))
		if looks < s.machines || queued > 0 {
			return fmt.Sprintf("%d looks at %d machines, %d wait", looks, s.machines, queued)
		}
		return ""
	})
}

// queued are the machines that wait for a look.
func (s *stage) queued() int { return int(s.metric("workqueue_depth", `name="windowsmachine"`)) }
