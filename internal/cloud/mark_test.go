package cloud

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestClusterMark: what is written on a VM is read back, and what others write there is no mark.
func TestClusterMark(t *testing.T) {
	for text, want := range map[string]ClusterMark{
		"":               {},
		"blue":           {},
		"/":              {},
		"blue/":          {},
		"/1-2-3":         {},
		"blue/1-2-3":     {Name: "blue", UID: "1-2-3"},
		"blue/1-2-3/4-5": {Name: "blue", UID: "1-2-3", Manager: "4-5"},
		"blue.a/1-2-3/":  {Name: "blue.a", UID: "1-2-3"},
		"blue/1/4/5":     {Name: "blue", UID: "1", Manager: "4/5"}, // no UID is so, therefore it is that of no manager
	} {
		got := ReadClusterMark(text)
		if got != want {
			t.Errorf("ReadClusterMark(%q) = %+v, want %+v", text, got, want)
		}
		if again := ReadClusterMark(got.String()); again != got {
			t.Errorf("%q is read back as %+v", got.String(), again)
		}
	}
}

// TestMarkOf: the mark names the Cluster and its UID, and there is none without a Cluster.
func TestMarkOf(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "blue", UID: "1-2-3"}}
	if got := MarkOf(cluster, "4-5").String(); got != "blue/1-2-3/4-5" {
		t.Errorf("MarkOf = %q", got)
	}
	if got := MarkOf(cluster, "").String(); got != "blue/1-2-3" {
		t.Errorf("MarkOf without a manager = %q", got)
	}
	if got := MarkOf(nil, "4-5").String(); got != "" {
		t.Errorf("MarkOf(nil) = %q", got)
	}
}

// TestMarkedOf: name, namespace and ID have to agree, and no ID is that of no machine.
func TestMarkedOf(t *testing.T) {
	key := Key{Namespace: "team", Name: "blue"}
	machine := Machine{Key: key, Identity: Identity{ProviderID: "test://1"}}
	for name, c := range map[string]struct {
		mark Marked
		m    Machine
		want bool
	}{
		"its own":             {Marked{Key: key, ProviderID: "test://1", Name: "renamed"}, machine, true},
		"of another name":     {Marked{Key: Key{Namespace: "team", Name: "red"}, ProviderID: "test://1"}, machine, false},
		"of another tenant":   {Marked{Key: Key{Namespace: "other", Name: "blue"}, ProviderID: "test://1"}, machine, false},
		"of another VM":       {Marked{Key: key, ProviderID: "test://2"}, machine, false},
		"without an ID":       {Marked{Key: key}, machine, false},
		"neither has an ID":   {Marked{Key: key}, Machine{Key: key}, false},
		"no mark, no machine": {Marked{}, Machine{}, false},
	} {
		if got := c.mark.Of(c.m); got != c.want {
			t.Errorf("%s: Of = %v", name, got)
		}
	}
}
