package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// statement is an in-toto statement, version 1, with a SLSA provenance, version 1. It is not signed: that needs a key of those
// who release.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

// resource is something with a digest. Annotations tell what else is known of it.
type resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType          string            `json:"buildType"`
		ExternalParameters map[string]string `json:"externalParameters"`
		Dependencies       []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// repository is where the source comes from, and releasing explains how a release is made.
const (
	repository = "https://github.com/capwin/cluster-api-provider-windows"
	releasing  = repository + "/blob/main/docs/contributing/releasing.md"
)

// writeProvenance says of everything that was made what it was made from.
func (r release) writeProvenance() error {
	if r.revision == "" || r.builder == "" {
		return errors.New("no -revision or no -builder: name the commit and who builds, as make does")
	}
	subjects, err := r.subjects()
	if err != nil {
		return err
	}
	materials, err := r.materials()
	if err != nil {
		return err
	}
	s := statement{
		Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1", Subject: subjects,
	}
	s.Predicate.BuildDefinition.BuildType = releasing
	s.Predicate.BuildDefinition.ExternalParameters = r.parameters()
	s.Predicate.BuildDefinition.Dependencies = materials
	s.Predicate.RunDetails.Builder.ID = r.builder
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.built, "provenance.json"), content, 0o600)
}

// parameters are what whoever releases has chosen.
func (r release) parameters() map[string]string {
	chosen := map[string]string{"version": r.version, "image": r.image}
	if r.vulncheck != "" {
		chosen["vulncheck"] = r.vulncheck
	}
	return chosen
}

// subjects are the image, with its platforms, and the files that users download.
func (r release) subjects() ([]resource, error) {
	image, platforms, err := r.readImage()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(r.image, "@")
	all := []resource{{Name: name, Digest: sha256Of(image.String())}}
	for _, p := range platforms {
		all = append(all, resource{Name: name + " " + p.Platform.String(), Digest: sha256Of(p.Digest.String())})
	}
	folders := []string{filepath.Join(r.built, "sbom"), r.install()}
	for _, c := range components {
		folders = append(folders, r.folder(c))
	}
	for _, folder := range folders {
		files, err := r.files(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// files are a file, or those below a folder, by their paths in r.built. So clusterctl.yaml is none: it has the paths of this
// machine.
func (r release) files(top string) ([]resource, error) {
	var all []resource
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.built, path)
		sum := sha256.Sum256(content)
		all = append(all, resource{Name: filepath.ToSlash(name), Digest: sha256Of(hex.EncodeToString(sum[:]))})
		return err
	})
	return all, err
}

// materials are the source, and the modules that the lists of the image name.
func (r release) materials() ([]resource, error) {
	commit, dirty := strings.CutSuffix(r.revision, "-dirty")
	source := resource{URI: "git+" + repository, Digest: map[string]string{"gitCommit": commit}}
	if dirty {
		source.Annotations = map[string]string{"changed": "the source has changes that are not in the commit"}
	}
	lists, err := filepath.Glob(filepath.Join(r.built, "sbom", "*.cdx.json"))
	if err != nil {
		return nil, err
	}
	modules := map[string]resource{}
	for _, file := range lists {
		if err := readModules(file, modules); err != nil {
			return nil, fmt.Errorf("read modules of %s: %w", file, err)
		}
	}
	all := []resource{source}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		all = append(all, modules[name])
	}
	return all, nil
}

// readModules adds the modules of a list. Their digests are those of go.sum, which in-toto calls dirHash.
func readModules(file string, modules map[string]resource) error {
	var list struct {
		Components []struct {
			PURL   string
			Hashes []struct{ Content string }
		}
	}
	if err := readJSON(file, &list); err != nil {
		return err
	}
	for _, c := range list.Components {
		module := resource{URI: c.PURL}
		for _, h := range c.Hashes {
			module.Digest = map[string]string{"dirHash": h.Content}
		}
		modules[c.PURL] = module
	}
	return nil
}

func sha256Of(digest string) map[string]string {
	return map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}
}

// readImage reads the one image in the layout, and returns its digest and those of its platforms.
func (r release) readImage() (v1.Hash, []v1.Descriptor, error) {
	all, err := layout.ImageIndexFromPath(filepath.Join(r.built, "image"))
	if err != nil {
		return v1.Hash{}, nil, fmt.Errorf("read image of %s: %w", r.built, err)
	}
	images, err := all.IndexManifest()
	if err == nil && len(images.Manifests) != 1 {
		err = fmt.Errorf("it has %d images, want one", len(images.Manifests))
	}
	if err != nil {
		return v1.Hash{}, nil, fmt.Errorf("read image of %s: %w", r.built, err)
	}
	digest := images.Manifests[0].Digest
	image, err := all.ImageIndex(digest)
	if err != nil {
		return v1.Hash{}, nil, err
	}
	platforms, err := image.IndexManifest()
	if err != nil {
		return v1.Hash{}, nil, err
	}
	return digest, platforms.Manifests, nil
}

func readJSON(file string, into any) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}
