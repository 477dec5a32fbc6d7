// Command release writes a clusterctl repository for local use: the components of both providers, the flavors, and a
// clusterctl.yaml that refers to them.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifestImage is the image in config/manager, which is replaced by the image of the release.
const manifestImage = "ghcr.io/capwin/cluster-api-provider-windows:v0.1.0"

func main() {
	var r release
	flag.StringVar(&r.version, "version", "v0.1.0", "version of the release")
	flag.StringVar(&r.image, "image", manifestImage, "image of the managers")
	flag.StringVar(&r.out, "out", "out/repository", "folder to write")
	flag.StringVar(&r.source, "source", ".", "root of this repository")
	flag.StringVar(&r.built, "built", "", "folder that hack/image wrote; its image is named by digest, and gets a provenance")
	flag.StringVar(&r.revision, "revision", "", "commit of the source, for the provenance")
	flag.StringVar(&r.builder, "builder", "", "URI of who builds, for the provenance")
	flag.StringVar(&r.vulncheck, "vulncheck", "", "left-out if known vulnerabilities were not searched for, for the provenance")
	flag.Parse()
	if err := r.write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type release struct{ version, image, out, source, built, revision, builder, vulncheck string }

// component is one provider of the release: its type in clusterctl, and the files in its folder besides the manifests.
type component struct {
	kind         string
	providerType string
	files        []string
	flavors      map[string]string
}

// flavors are other names of templates: the default flavor is windows.
var flavors = map[string]string{"cluster-template.yaml": "templates/cluster-template-windows.yaml"}

var components = []component{
	{
		kind: "infrastructure", providerType: "InfrastructureProvider",
		files: []string{"metadata.yaml", "templates/*.yaml"}, flavors: flavors,
	},
	{kind: "bootstrap", providerType: "BootstrapProvider", files: []string{"metadata.yaml"}},
}

func (r release) write() error {
	out, err := filepath.Abs(r.out)
	if err != nil {
		return fmt.Errorf("find folder %s: %w", r.out, err)
	}
	r.out = out
	if r.built != "" {
		if err := r.useBuilt(); err != nil {
			return err
		}
	}
	for _, c := range components {
		if err := r.writeComponent(c); err != nil {
			return fmt.Errorf("write %s provider: %w", c.kind, err)
		}
	}
	if err := r.writeInstall(); err != nil {
		return fmt.Errorf("write %s: %w", r.install(), err)
	}
	config := filepath.Join(r.out, "clusterctl.yaml")
	if err := r.writeConfig(config); err != nil {
		return fmt.Errorf("write %s: %w", config, err)
	}
	fmt.Printf("wrote %s; use it with: clusterctl --config %s generate cluster NAME --infrastructure windows:%s "+
		"--target-namespace NAMESPACE --kubernetes-version VERSION\n",
		r.out, config, r.version)
	if r.built == "" {
		return nil
	}
	if err := r.writeProvenance(); err != nil {
		return fmt.Errorf("write provenance: %w", err)
	}
	return nil
}

// useBuilt names the image by the digest that it has in every registry. A tag may be moved to another image.
func (r *release) useBuilt() error {
	built, err := filepath.Abs(r.built)
	if err != nil {
		return fmt.Errorf("find folder %s: %w", r.built, err)
	}
	r.built = built
	digest, _, err := r.readImage()
	if err != nil {
		return err
	}
	r.image += "@" + digest.String()
	return nil
}

func (r release) writeComponent(c component) error {
	if err := os.MkdirAll(r.folder(c), 0o750); err != nil {
		return err
	}
	manifests, err := r.render(c.kind)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.manifests(c), manifests, 0o600); err != nil {
		return err
	}
	for _, pattern := range c.files {
		if err := r.copy(c, pattern); err != nil {
			return err
		}
	}
	for name, source := range c.flavors {
		if err := r.copyAs(c, filepath.Join(r.source, source), name); err != nil {
			return err
		}
	}
	return nil
}

// render renders a folder of config, for the image of the release.
func (r release) render(folder string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), filepath.Join(r.source, "config", folder))
	if err != nil {
		return nil, err
	}
	manifests, err := resources.AsYaml()
	return []byte(strings.ReplaceAll(string(manifests), manifestImage, r.image)), err
}

// copy copies files of this repository.
func (r release) copy(c component, pattern string) error {
	files, err := filepath.Glob(filepath.Join(r.source, filepath.FromSlash(pattern)))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := r.copyAs(c, file, filepath.Base(file)); err != nil {
			return err
		}
	}
	return nil
}

func (r release) copyAs(c component, file, name string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.folder(c), name), named(content), 0o600)
}

// named ends the names of a ClusterClass's templates with a hash of the file. Templates are immutable, and clusterctl adds none
// to those that are there, so another content needs other names. Cluster API rolls out only what differs, whatever it is called.
func named(content []byte) []byte {
	hash := sha256.Sum256(content)
	return bytes.ReplaceAll(content, []byte("-HASH"), []byte("-"+hex.EncodeToString(hash[:4])))
}

// writeConfig writes the clusterctl configuration. clusterctl needs absolute paths.
func (r release) writeConfig(file string) error {
	type provider struct {
		Name string `json:"name"`
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	var config struct {
		Providers []provider `json:"providers"`
	}
	for _, c := range components {
		config.Providers = append(config.Providers, provider{Name: "windows", Type: c.providerType, URL: "file://" + r.manifests(c)})
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

func (r release) folder(c component) string {
	return filepath.Join(r.out, c.kind+"-windows", r.version)
}

func (r release) manifests(c component) string {
	return filepath.Join(r.folder(c), c.kind+"-components.yaml")
}
