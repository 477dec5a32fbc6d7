package release

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// What a user without internet sets for a flavor.
const (
	mirror      = "registry.example.com:5000/mirror"
	chartMirror = "oci://registry.example.com:5000/charts"
)

var mirrored = map[string]string{"IMAGE_REGISTRY": mirror, "CHART_REPOSITORY": chartMirror}

// publicHost finds the registries and repositories of the projects whose images and charts the flavors have.
var publicHost = regexp.MustCompile(`(registry\.k8s\.io|ghcr\.io|quay\.io|docker\.io|mcr\.microsoft\.com|docs\.tigera\.io|` +
	`kubernetes\.github\.io|githubusercontent\.com|\bsigwindowstools)\S*`)

// allowed are places of a public name in a flavor that has a mirror, with the reason.
var allowed = map[string]string{
	`ghcr.io"`: "what a class takes without a mirror; TestClasses compares what it makes with one with the plain flavor",
}

// With both variables set, no image and no chart of a flavor comes from the internet.
func TestFlavorsWithMirror(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for _, flavor := range flavors(t, filepath.Dir(u.config)) {
		for _, cloud := range []string{"vsphere", "azure"} {
			u.variables = maps.Clone(mirrored)
			u.variables["WINDOWS_CLOUD"] = cloud
			text := u.generate("demo", "--flavor", flavor)
			for _, name := range pulled(t, text) {
				if !strings.HasPrefix(name, mirror+"/") && !strings.HasPrefix(name, chartMirror) {
					t.Errorf("flavor %s of %s pulls %s", flavor, cloud, name)
				}
			}
			for _, found := range publicHost.FindAllString(strings.ReplaceAll(text, mirror+"/", "mirror."), -1) {
				if _, listed := allowed[strings.TrimSuffix(found, ",")]; !listed && !strings.HasPrefix(found, "sigwindowstools/") {
					t.Errorf("flavor %s of %s has %s", flavor, cloud, found)
				}
			}
			if count := strings.Count(text, "url: https://registry.example.com:5000/v2/mirror\n"); count != 1 && flavor != "windows" {
				t.Errorf("flavor %s names the mirror %d times to containerd on Windows", flavor, count)
			}
		}
	}
}

// pulled are the images and charts of a flavor, by names without tags, sorted.
func pulled(t *testing.T, text string) []string {
	t.Helper()
	names := map[string]bool{}
	for _, object := range objectsIn(t, text) {
		switch object["kind"] {
		case servers.HelmChartProxy.Kind:
			spec := object["spec"].(tree)
			chart := spec["chartName"].(string)
			names[spec["repoURL"].(string)+" "+chart] = true
			for _, image := range imagesOf(t, chart, plainValues(t, spec["valuesTemplate"])) {
				names[image] = true
			}
		case "KubeadmControlPlane":
			names[registryOf(object, "registry.k8s.io")+"/kube-apiserver"] = true
		}
	}
	for _, found := range imageLine.FindAllStringSubmatch(text, -1) {
		names[fullName(found[1])] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// imageLine is the image of a container, in an object or in a text within one.
var imageLine = regexp.MustCompile(`\bimage: ([a-z0-9][^\s"\\]*):[^:/\s"\\]+(?:[\s"\\]|$)`)

// registryOf the control plane's images.
func registryOf(controlPlane tree, byDefault string) string {
	config, _ := controlPlane["spec"].(tree)["kubeadmConfigSpec"].(tree)["clusterConfiguration"].(tree)
	if named, ok := config["imageRepository"].(string); ok {
		return named
	}
	return byDefault
}

// fullName has the registry that a short name stands for.
func fullName(image string) string {
	if host, _, _ := strings.Cut(image, "/"); !strings.ContainsAny(host, ".:") {
		return "docker.io/" + image
	}
	return image
}

// plainValues are the values of a chart that do not come from the Cluster.
func plainValues(t *testing.T, template any) (values tree) {
	t.Helper()
	text, _ := template.(string)
	text = regexp.MustCompile(`(?m)^.*\{\{.*\n`).ReplaceAllString(text, "")
	expect.OK(t, yaml.Unmarshal([]byte(text), &values))
	return values
}

// imagesOf a chart with these values, by names without tags, as its templates put them together.
func imagesOf(t *testing.T, chart string, given tree) []string {
	t.Helper()
	byDefault := defaultsOf(t, chart)
	value := func(of, field string) string {
		for _, values := range []tree{given, byDefault} {
			part, _ := values[of].(tree)
			if text, ok := part[field].(string); ok {
				return text
			}
		}
		return ""
	}
	switch chart {
	case "tigera-operator":
		calico := value("installation", "registry") // tigera/operator 40788b9b, pkg/components/references.go
		if calico == "" {
			calico = "quay.io/"
		}
		return []string{value("tigeraOperator", "registry") + "/" + value("tigeraOperator", "image"), calico + "calico/node"}
	case servers.CloudProviderChart:
		return []string{value("daemonset", "image")}
	case "cloud-provider-azure":
		var images []string
		for _, part := range []string{"cloudControllerManager", "cloudNodeManager"} {
			repository := value(part, "imageRepository")
			if repository == "mcr.microsoft.com/oss/kubernetes" { // for 1.32 and later the chart takes another one by default
				repository = "mcr.microsoft.com/oss/v2/kubernetes"
			}
			images = append(images, repository+"/"+value(part, "imageName"))
		}
		return images
	}
	return nil // the kinds of Calico
}

// defaultsOf a chart are its values.yaml: that of the project, or of what stands for it here.
func defaultsOf(t *testing.T, chart string) (values tree) {
	t.Helper()
	if chart == servers.CloudProviderChart {
		archive, _, err := servers.Chart(t.Context(), chart)
		expect.OK(t, err)
		expect.OK(t, yaml.Unmarshal(fileIn(t, archive, chart+"/values.yaml"), &values))
		return values
	}
	text, err := os.ReadFile(filepath.Join("..", "frontdoor", "testdata", "charts", chart, "values.yaml"))
	if !errors.Is(err, os.ErrNotExist) {
		expect.OK(t, err)
	}
	expect.OK(t, yaml.Unmarshal(text, &values))
	return values
}

// fileIn returns a file of a packed chart.
func fileIn(t *testing.T, archive, name string) []byte {
	t.Helper()
	packed := expect.Got(os.Open(archive))(t)
	defer func() { expect.Fine(t, packed.Close()) }()
	files := tar.NewReader(expect.Got(gzip.NewReader(packed))(t))
	for {
		header, err := files.Next()
		expect.OK(t, err)
		if header.Name == name {
			return expect.Got(io.ReadAll(files))(t)
		}
	}
}

// Each field of a chart's own values that names a registry is set by the flavors with a mirror, so that a new release of a chart
// cannot bring an image from elsewhere.
func TestMirrorReachesFieldsOfCharts(t *testing.T) {
	t.Parallel()
	u := offline(t)
	u.variables = mirrored
	charts := 0
	for _, flavor := range []string{"windows-vsphere", "windows-azure"} {
		for _, object := range objectsIn(t, u.generate("demo", "--flavor", flavor)) {
			if object["kind"] != servers.HelmChartProxy.Kind {
				continue
			}
			charts++
			spec := object["spec"].(tree)
			given, byDefault := map[string]any{}, map[string]any{}
			walk(given, "", plainValues(t, spec["valuesTemplate"]))
			walk(byDefault, "", defaultsOf(t, spec["chartName"].(string)))
			for path, value := range byDefault {
				text, _ := value.(string)
				now, _ := given[path].(string)
				if publicHost.MatchString(text) && !strings.HasPrefix(now, mirror) {
					t.Errorf("%s: the chart's value %s is %s, and %q with a mirror", spec["chartName"], path, text, now)
				}
			}
		}
	}
	expect.Same(t, "charts", 6, charts)
}
