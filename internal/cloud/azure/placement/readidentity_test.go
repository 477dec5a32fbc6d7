package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestReadIdentity(t *testing.T) {
	object := blueObject(t, "azureclusteridentity")
	want := someIdentity("ServicePrincipal", &Allowed{
		List: []string{"team"}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"azure": "allowed"}},
	})
	want.ClientID, want.TenantID = "22222222-2222-3333-4444-555555555555", "33333333-2222-3333-4444-555555555555"
	got, err := ReadIdentity(object)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	if got, err := ReadIdentity(object); err != nil || !got.BeingDeleted {
		t.Errorf("it is being deleted: %v, %v", got, err)
	}
}

func TestReadAllowedNamespaces(t *testing.T) {
	for _, test := range []struct {
		name    string
		written any
		in, ok  bool
	}{
		{"nothing", nil, false, true},
		{"an empty object", map[string]any{}, true, true},
		{"an empty list", map[string]any{"list": []any{}}, false, true},
		{"a list of null", map[string]any{"list": nil}, true, true},
		{"a list", map[string]any{"list": []any{"team"}}, true, true},
		{"a list of numbers", map[string]any{"list": []any{int64(1)}}, false, false},
		{"a text", "team", false, false},
	} {
		object := blueObject(t, "azureclusteridentity")
		unstructured.RemoveNestedField(object.Object, "spec", "allowedNamespaces")
		if test.written != nil {
			object.Object["spec"].(map[string]any)["allowedNamespaces"] = test.written
		}
		got, err := ReadIdentity(object)
		if in := allows(got.Allowed, byTeam); in != test.in || (err == nil) != test.ok {
			t.Errorf("%s: lets in %v, %v", test.name, in, err)
		}
	}
}

func TestIdentityOfAnAzureCluster(t *testing.T) {
	for _, test := range []struct {
		name string
		from *unstructured.Unstructured
		want types.NamespacedName
		ok   bool
	}{
		{"no AzureCluster", nil, types.NamespacedName{}, true},
		{"another namespace", blueObject(t, "azurecluster"), types.NamespacedName{Namespace: "identities", Name: "clusters"}, true},
		{
			"no namespace", blueWith(t, nil, "spec.identityRef.namespace"),
			types.NamespacedName{Namespace: "team", Name: "clusters"},
			true,
		},
		{"none", blueWith(t, nil, "spec.identityRef"), types.NamespacedName{}, true},
		{"another kind", blueWith(t, "Secret", "spec.identityRef.kind"), types.NamespacedName{}, false},
		{"no kind", blueWith(t, nil, "spec.identityRef.kind"), types.NamespacedName{}, false},
		{"no name", blueWith(t, nil, "spec.identityRef.name"), types.NamespacedName{}, false},
		{"a name that ends wrongly", blueWith(t, "blue-", "spec.identityRef.name"), types.NamespacedName{}, false},
		{"a name in capitals", blueWith(t, "Blue", "spec.identityRef.name"), types.NamespacedName{}, false},
		{"a name that climbs", blueWith(t, "../x", "spec.identityRef.name"), types.NamespacedName{}, false},
		{"a namespace that climbs", blueWith(t, "..", "spec.identityRef.namespace"), types.NamespacedName{}, false},
		{"a number", blueWith(t, int64(1), "spec.identityRef.name"), types.NamespacedName{}, false},
		{"a number for a namespace", blueWith(t, int64(1), "spec.identityRef.namespace"), types.NamespacedName{}, false},
		{"a number alone", blueWith(t, map[string]any{"name": int64(1)}, "spec.identityRef"), types.NamespacedName{}, false},
		{"a namespace that ends wrongly", blueWith(t, "team-", "spec.identityRef.namespace"), types.NamespacedName{}, false},
	} {
		got, err := IdentityOf(test.from)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}
