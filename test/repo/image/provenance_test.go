package image

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// resource is a subject or a material.
type resource struct {
	Name, URI string
	Digest    map[string]string
}

// wantProvenance compares what is said of the release with the release.
func wantProvenance(t *testing.T, out, digest string, platforms []descriptor) {
	t.Helper()
	var s struct {
		Type          string `json:"_type"`
		Subject       []resource
		PredicateType string
		Predicate     struct {
			BuildDefinition struct{ ResolvedDependencies []resource }
			RunDetails      struct{ Builder struct{ ID string } }
		}
	}
	expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile(filepath.Join(out, "provenance.json")))(t), &s))
	expect.Same(t, "types and builder", []string{"https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1", builder},
		[]string{s.Type, s.PredicateType, s.Predicate.RunDetails.Builder.ID})

	want := map[string]string{image: strings.TrimPrefix(digest, "sha256:")}
	for _, p := range platforms {
		want[image+" "+p.Platform.OS+"/"+p.Platform.Architecture] = strings.TrimPrefix(p.Digest, "sha256:")
	}
	for file, sum := range hashes(t, out) {
		if strings.HasPrefix(file, "repository/") || strings.HasPrefix(file, "sbom/") {
			want[file] = sum
		}
	}
	got := map[string]string{}
	for _, subject := range s.Subject {
		got[subject.Name] = subject.Digest["sha256"]
	}
	expect.Same(t, "subjects", want, got)
	wantMaterials(t, out, s.Predicate.BuildDefinition.ResolvedDependencies)
}

func wantMaterials(t *testing.T, out string, materials []resource) {
	t.Helper()
	want := map[string]string{"git+https://github.com/capwin/cluster-api-provider-windows": revision}
	for _, file := range expect.Got(filepath.Glob(filepath.Join(out, "sbom", "*")))(t) {
		l := list{}
		expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile(file))(t), &l))
		for _, c := range l.Components {
			want[c.PURL] = ""
			for _, h := range c.Hashes {
				want[c.PURL] = h.Content
			}
		}
	}
	got := map[string]string{}
	for _, m := range materials {
		got[m.URI] = m.Digest["dirHash"] + m.Digest["gitCommit"]
	}
	expect.Same(t, "materials", want, got)
}

// wantNamedByDigest: whoever can move a tag in the registry cannot put another image in place.
func wantNamedByDigest(t *testing.T, out, digest string) {
	t.Helper()
	components := expect.Got(filepath.Glob(filepath.Join(out, "repository", "*", version, "*-components.yaml")))(t)
	if len(components) != 2 {
		t.Errorf("the release has %v, want two components", components)
	}
	for _, file := range append(components, filepath.Join(out, "repository", "install.yaml")) {
		want := []string{image + "@" + digest}
		if filepath.Base(file) == "install.yaml" {
			want = append(want, want[0]) // has both providers
		}
		var got []string
		content := string(expect.Got(os.ReadFile(file))(t))
		for _, found := range regexp.MustCompile(`(?m)^ +image: (.+)$`).FindAllStringSubmatch(content, -1) {
			got = append(got, found[1])
		}
		expect.Same(t, "images of "+filepath.Base(file), want, got)
	}
}
