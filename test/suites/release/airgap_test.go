package release

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const airGapPage = "../../../docs/air-gap.md"

// The table of docs/air-gap.md has each image and chart of the flavors and of the plugin's add-ons, and no other. What a row
// names moves the image to the mirror.
func TestAirGapTable(t *testing.T) {
	t.Parallel()
	u := offline(t)
	plugin := program(t, "clusterctl-windows")
	u.variables = map[string]string{"AZURE_WINDOWS_IMAGE_VERSION": "1.36.3"}
	addons := func(more ...string) string {
		return string(run(t, []byte(u.generate("demo", "--flavor", "windows-vsphere")), plugin,
			append([]string{"addons", "-f", "-", "--csi-proxy"}, more...)...))
	}
	flavorsPull := func(variable string) []string {
		u := u
		u.variables = map[string]string{variable: mirrored[variable]}
		return slices.Concat(pulled(t, u.generate("demo", "--flavor", "windows-vsphere")),
			pulled(t, u.generate("demo", "--flavor", "windows-azure")))
	}
	all := flavorsPull("NONE")
	for line := range strings.Lines(addons("--images")) {
		all = append(all, withoutTag(strings.TrimSpace(line)))
	}
	moved := map[string][]string{ // what still has its own name
		"IMAGE_REGISTRY": flavorsPull("IMAGE_REGISTRY"), "CHART_REPOSITORY": flavorsPull("CHART_REPOSITORY"),
		"addons --registry": imagesAt(addons("--registry", mirror)),
	}
	var listed []string
	for _, row := range airGapRows(t) {
		name := regexp.MustCompile("^`([^`]+)`").FindStringSubmatch(row[0])
		if name == nil {
			continue // no object of ours names it
		}
		listed = append(listed, name[1])
		for _, by := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			if slices.Contains(moved[by[1]], name[1]) {
				t.Errorf("%s does not move %s to the mirror", by[1], name[1])
			}
		}
	}
	slices.Sort(all)
	slices.Sort(listed)
	expect.Same(t, "rows of "+airGapPage, slices.Compact(all), listed)
}

func airGapRows(t *testing.T) (rows [][]string) {
	t.Helper()
	_, table, _ := strings.Cut(string(expect.Got(os.ReadFile(airGapPage))(t)), "| --- | --- | --- |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 {
			return rows
		}
		rows = append(rows, []string{strings.TrimPrefix(cells[0], "| "), cells[1], cells[2]})
	}
	return rows
}

// withoutTag is the name of an image without its tag.
func withoutTag(image string) string {
	return regexp.MustCompile(`:[^:/]+$`).ReplaceAllString(image, "")
}

// imagesAt are the images of the containers in a text.
func imagesAt(text string) (names []string) {
	for _, found := range imageLine.FindAllStringSubmatch(text, -1) {
		names = append(names, fullName(found[1]))
	}
	return names
}

// Who follows docs/air-gap.md copies all that a flavor on vSphere names at the mirror: the images of its commands are those of
// the flavor, of kubeadm with the flavor's configuration, and of the test.
func TestAirGapCommands(t *testing.T) {
	t.Parallel()
	u := offline(t)
	page := string(expect.Got(os.ReadFile(airGapPage))(t))
	dir := t.TempDir()
	shell := u.shellOf(t, dir)
	scripts := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(scripts) != 3 {
		t.Fatalf("%s has %d blocks of commands", airGapPage, len(scripts))
	}
	output(t, shell(scripts[0][1]))
	copied := strings.Split(string(expect.Got(os.ReadFile(filepath.Join(dir, "copied")))(t)), "\n")
	u.variables = map[string]string{"IMAGE_REGISTRY": "registry.example.com/mirror"}
	flavor := u.generate("demo", "--flavor", "windows-vsphere")
	for _, image := range pulled(t, flavor) {
		if found := slices.ContainsFunc(copied, func(name string) bool { return withoutTag(name) == image }); !found &&
			!strings.Contains(image, "://") {
			t.Errorf("the flavor names %s, which the page does not copy: %q", image, copied)
		}
	}
	for _, name := range u.kubeadmImages(t, flavor, dir) {
		if !slices.Contains(copied, name) {
			t.Errorf("kubeadm names %s, which the page does not copy: %q", name, copied)
		}
	}
	for _, found := range regexp.MustCompile(`(ghcr\.io\S+):(\S+)|--version (v\S+)`).FindAllString(scripts[0][1], -1) {
		tag := found[strings.LastIndexAny(found, ": ")+1:]
		if !strings.Contains(u.generate("demo", "--flavor", "windows-vsphere"), tag) {
			t.Errorf("the page has %s, and the flavor no %s", found, tag)
		}
	}
	listing := string(u.clusterctl("init", "list-images", "--help"))
	for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(scripts[1][1], -1) {
		wantIn(t, listing, flag)
	}
	output(t, shell(scripts[0][1]+scripts[2][1]))
}

// kubeadmImages are those that kubeadm pulls with the configuration of a flavor's control plane.
func (u user) kubeadmImages(t *testing.T, flavor, dir string) []string {
	t.Helper()
	for _, object := range objectsIn(t, flavor) {
		if object["kind"] != "KubeadmControlPlane" {
			continue
		}
		config := object["spec"].(tree)["kubeadmConfigSpec"].(tree)["clusterConfiguration"].(tree)
		text := fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n"+
			"imageRepository: %s\ndns: {imageRepository: %s}\n", config["imageRepository"], config["dns"].(tree)["imageRepository"])
		file := filepath.Join(dir, "kubeadm.yaml")
		expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
		return strings.Fields(string(run(t, nil, u.binaries.Path("kubeadm"), "config", "images", "list", "--config", file)))
	}
	return nil
}

// What a wrong value ends in is what the page shows, letter by letter.
func TestAirGapErrors(t *testing.T) {
	t.Parallel()
	u := offline(t)
	page := string(expect.Got(os.ReadFile(airGapPage))(t))
	shown := regexp.MustCompile("(?s)```console\n(?:\\$ (.*?)\n)?([^$\\s].*?\n)```").FindAllStringSubmatch(page, -1)
	if len(shown) != 2 {
		t.Fatalf("%s shows %d errors", airGapPage, len(shown))
	}
	shell := u.shellOf(t, t.TempDir())
	plan := regexp.MustCompile("(?s)```sh\nexport IMAGE_REGISTRY(.*?)```").FindStringSubmatch(page)
	for _, wrong := range []string{"https://registry.example.com", "registry.example.com/"} {
		wantShown(t, shell("MIRROR="+wrong+"\nexport IMAGE_REGISTRY"+plan[1]), shown[1][2])
	}
	wantShown(t, shell(shown[0][1]), shown[0][2])
}

func wantShown(t *testing.T, command *exec.Cmd, want string) {
	t.Helper()
	said, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("%s does not fail", command)
	}
	expect.Same(t, "what is said", want, string(said))
}

// shellOf has clusterctl with the release and our plugin, kubeadm, and stand-ins for programs that ask the network: crane and
// helm write down what they would copy, and docker prints lines of Calico's operator (tigera/operator 0232ac1c, cmd/main.go).
func (u user) shellOf(t *testing.T, dir string) func(script string) *exec.Cmd {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	expect.OK(t, os.Mkdir(bin, 0o700))
	expect.OK(t, os.Symlink(program(t, "clusterctl-windows"), filepath.Join(bin, "clusterctl-windows")))
	expect.OK(t, os.Symlink(u.binaries.Path("kubeadm"), filepath.Join(bin, "kubeadm")))
	for name, text := range map[string]string{
		// Without a management cluster, clusterctl does not know the version of a provider and the namespace.
		"clusterctl": `for word; do
  shift
  case "$word" in
  generate) more="--target-namespace default --config ` + u.config + `" ;;
  windows) test $# -gt 3 && test -n "$more" && word=windows:` + version + ` ;;
  esac
  set -- "$@" "$word"
done
exec ` + u.binaries.Path("clusterctl") + ` "$@" $more`,
		"crane":  `shift; test "$1" = --allow-nondistributable-artifacts && echo "$3" >> ` + dir + `/copied`,
		"helm":   "exit 0",
		"docker": "echo docker.io/envoyproxy/gateway:v1\necho quay.io/calico/node:v3.32.1\necho quay.io/calico/node-windows:v3.32.1",
	} {
		expect.OK(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	return func(script string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		command.Dir = dir
		set := maps.Clone(variables)
		set["PATH"], set["HOME"], set["XDG_CONFIG_HOME"] = bin+":"+os.Getenv("PATH"), u.home, u.home
		set["CLUSTERCTL_DISABLE_VERSIONCHECK"] = "true"
		for name, value := range set {
			command.Env = append(command.Env, name+"="+value)
		}
		return command
	}
}
