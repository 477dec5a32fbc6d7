package cloud

import "testing"

// TestClusterMark: what is written on a VM is read back, and what others write there is no mark.
func TestClusterMark(t *testing.T) {
	for text, want := range map[string]ClusterMark{
		"":              {},
		"blue":          {},
		"/":             {},
		"blue/":         {},
		"/1-2-3":        {},
		"blue/1-2-3":    {Name: "blue", UID: "1-2-3"},
		"blue.a/1-2-3/": {Name: "blue.a", UID: "1-2-3/"}, // no UID is so, therefore it is that of no Cluster
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
