package security

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// mebibyte is nearly what etcd takes of an object.
const mebibyte = 1 << 20

// times repeats what a form makes of a number, with so many more bytes, until it has a mebibyte.
func times(form func(n int) string, more int, add func(text string)) {
	for n, bytes := 0, 0; bytes < mebibyte; n++ {
		text := form(n)
		bytes += len(text) + more
		add(text)
	}
}

// pairs are a mebibyte of labels or annotations with long values.
func pairs(form string, value int) map[string]string {
	pairs := map[string]string{}
	times(func(n int) string { return fmt.Sprintf(form, n) }, value, func(key string) { pairs[key] = xs(value) })
	return pairs
}

// inflations are the ways in which a user who may write an object can make it large, beside its spec, which a policy measures.
var inflations = map[string]func(o client.Object){
	"labels":                                   func(o client.Object) { o.SetLabels(pairs("example.com/%d", 63)) },
	"labels that look like Cluster API's":      func(o client.Object) { o.SetLabels(pairs("a.cluster.x-k8s.io/%d", 63)) },
	"annotations that look like Cluster API's": func(o client.Object) { o.SetAnnotations(pairs("a.cluster.x-k8s.io/%d", 1024)) },
	"short annotations of others":              func(o client.Object) { o.SetAnnotations(pairs("a-%d.example.com/a", 1024)) },
	"owners": func(o client.Object) {
		var owners []metav1.OwnerReference
		times(func(n int) string { return fmt.Sprint(xs(100), n) }, 60, func(text string) {
			owners = append(owners, metav1.OwnerReference{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: text, UID: "u",
			})
		})
		o.SetOwnerReferences(owners)
	},
	"finalizers": func(o client.Object) {
		var finalizers []string
		times(func(n int) string { return fmt.Sprint("cluster.x-k8s.io/", xs(40), n) }, 0, func(text string) {
			finalizers = append(finalizers, text)
		})
		o.SetFinalizers(finalizers)
	},
	"managedFields": func(o client.Object) {
		var fields []metav1.ManagedFieldsEntry
		times(func(n int) string { return fmt.Sprint(xs(100), n) }, 60, func(text string) {
			fields = append(fields, metav1.ManagedFieldsEntry{Manager: text, FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)})
		})
		o.SetManagedFields(fields)
	},
	"one annotation of kubectl": func(o client.Object) {
		o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: xs(mebibyte)})
	},
	"its status": func(o client.Object) {
		conditions := []metav1.Condition{{Type: "Ready", Message: xs(mebibyte)}}
		switch o := o.(type) {
		case *infrav1.WindowsMachine:
			o.Status.Conditions = conditions
		case *bootstrapv1.WindowsBootstrapConfig:
			o.Status.Conditions = conditions
		case *clusterv1.Machine:
			o.Status.Conditions = conditions
		case *clusterv1.Cluster:
			o.Status.Conditions = conditions
		}
	},
}

// kinds are those of which a manager keeps all objects.
func kinds() []client.Object {
	return []client.Object{
		&infrav1.WindowsMachine{}, &bootstrapv1.WindowsBootstrapConfig{}, &clusterv1.Machine{}, &clusterv1.Cluster{},
	}
}

// keepsLittle keeps an object of each kind as a cache does.
func keepsLittle(inflate func(client.Object)) func(*testing.T) string {
	return func(t *testing.T) string {
		most := 0
		for _, o := range kinds() {
			o.SetNamespace("evil")
			o.SetName("large")
			inflate(o)
			kept := expect.Got(json.Marshal(expect.Got(caches.Keep(o))(t)))(t)
			most = max(most, len(kept))
		}
		if most > 40<<10 {
			t.Errorf("%d bytes are kept", most)
		}
		return fmt.Sprintf("%d bytes are kept at most", most)
	}
}

// foreignDomains look like those whose annotations are kept, whatever their size.
var foreignDomains = []string{
	"evil-cluster.x-k8s.io", "cluster.x-k8s.io.example.com", "xcluster.x-k8s.io", "cluster-x-k8s.io", "x-k8s.io", "evilcapwin.io",
	"capwin.io.example.com", "capwin-io", "a.capwin.io", "cluster.x-k8s.iox", "topology-cluster.x-k8s.io", "",
}

// drops keeps many objects with an annotation of 100 KiB under a domain that looks like ours.
func drops(t *testing.T) string {
	for _, domain := range foreignDomains {
		key := strings.TrimPrefix(domain+"/x", "/")
		o := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{
			key: xs(100 << 10), domain + "/short": "a",
		}}}
		kept := expect.Got(caches.Keep(o))(t).(client.Object)
		if _, found := kept.GetAnnotations()[key]; found || caches.IsLarge(kept) || kept.GetAnnotations()[domain+"/short"] != "a" {
			t.Errorf("%s: kept are %d annotations, large %t", key, len(kept.GetAnnotations()), caches.IsLarge(kept))
		}
	}
	return fmt.Sprintf("all %d are dropped", len(foreignDomains))
}

// escaped has a configuration that the policy lets pass, because it is short as text; JSON writes each character in six bytes.
func escaped(t *testing.T) string {
	o := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	o.Spec.Kubelet.Configuration.Raw = []byte(`{"f":"` + strings.Repeat(`\u0001`, 60<<10) + `"}`)
	kept := expect.Got(json.Marshal(expect.Got(caches.Keep(o))(t)))(t)
	if len(kept) > 40<<10 {
		t.Errorf("%d bytes are kept", len(kept))
	}
	return fmt.Sprintf("%d bytes are kept", len(kept))
}

// TestSizesInCaches: a user who may write objects wants the managers to keep their contents, until they have no memory left.
func TestSizesInCaches(t *testing.T) {
	t.Parallel()
	attempt(t,
		attack{"tenant", "hides a large annotation under a domain that looks like ours or Cluster API's", drops},
		attack{"tenant", "fills a cache with characters that JSON writes in six bytes", escaped},
	)
	for what, inflate := range inflations {
		attempt(t, attack{"tenant", "fills a cache with a mebibyte of " + what + " in each object", keepsLittle(inflate)})
	}
	for how, streams := range map[string]bool{"streams its objects": true, "lists all objects at once": false} {
		attempt(t, attack{
			"tenant", "fills each config with labels, so that a manager ends at its start beside an API server that " + how,
			func(t *testing.T) string { return starts(t, streams) },
		})
	}
}

// starts has a cache begin beside an API server with configs of a mebibyte.
func starts(t *testing.T, streams bool) string {
	const objects = 3 * caches.PageOfLarge
	var largest atomic.Int64
	server := newPeer(t, true, library(objects, streams, &largest))
	scheme := apiruntime.NewScheme()
	expect.OK(t, bootstrapv1.AddToScheme(scheme))
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(configKind, meta.RESTScopeNamespace)
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: server.ca()}}
	c := expect.Got(cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultTransform: caches.Keep, NewInformer: caches.NewInformer,
	}))(t)
	expect.Got(c.GetInformer(t.Context(), &bootstrapv1.WindowsBootstrapConfig{}, cache.BlockUntilSynced(false)))(t)
	go func() { expect.Fine(t, c.Start(t.Context())) }()
	expect.Same(t, "that the cache is filled", true, c.WaitForCacheSync(t.Context()))
	list := &bootstrapv1.WindowsBootstrapConfigList{}
	expect.OK(t, c.List(t.Context(), list))
	expect.Same(t, "configs", objects, len(list.Items))
	if largest.Load() > caches.PageOfLarge {
		t.Errorf("an answer has %d configs of a mebibyte", largest.Load())
	}
	return fmt.Sprintf("an answer has at most %d of %d", largest.Load(), objects)
}

var configKind = bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")

// library is an API server with so many configs, and nothing else. One that does not stream is older than Kubernetes 1.34. It
// lists by pages if it is asked to read them from etcd. The largest list that it has sent is counted.
func library(objects int, streams bool, largest *atomic.Int64) http.HandlerFunc {
	large := &bootstrapv1.WindowsBootstrapConfig{}
	inflations["labels"](large)
	labels, _ := json.Marshal(large.Labels) //nolint:errchkjson // because texts can be written
	object := func(n int) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"evil","name":"c%d","uid":"u%[3]d",`+
			`"resourceVersion":"1","labels":%s}}`, configKind.GroupVersion(), configKind.Kind, n, labels)
	}
	bookmark := fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"9",`+
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`, configKind.GroupVersion(), configKind.Kind)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query := r.URL.Query()
		switch {
		case query.Has("watch") && query.Has("sendInitialEvents") && !streams:
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case query.Has("watch"):
			for n := range objects {
				if query.Has("sendInitialEvents") {
					_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object(n))
				}
			}
			_, _ = fmt.Fprintln(w, bookmark)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			if count := page(w, query, objects, object); count > largest.Load() {
				largest.Store(count)
			}
		}
	}
}

// page writes one of a list, or all of it where an API server answers from its own cache, and returns how many objects it has.
func page(w http.ResponseWriter, query url.Values, objects int, object func(n int) string) int64 {
	first, _ := strconv.Atoi(query.Get("continue"))
	last := objects
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && !query.Has("resourceVersion") {
		last = min(first+limit, objects)
	}
	next := ""
	if last < objects {
		next = strconv.Itoa(last)
	}
	_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"9","continue":%q},"items":[`,
		configKind.GroupVersion(), configKind.Kind, next)
	for n := first; n < last; n++ {
		_, _ = fmt.Fprint(w, strings.Repeat(",", min(1, n-first)), object(n))
	}
	_, _ = fmt.Fprint(w, `]}`)
	return int64(last - first)
}
