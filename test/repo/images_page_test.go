package repo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// windowsMiB is what Windows Server, its updates and the programs of a node take of the disk of an image.
const windowsMiB = 25_000

// The recipe of docs/images.md makes an image whose nodes do not warn of their disk. image-builder's own default is 81,920 MiB
// (images/capi/packer/ova/packer-windows.json), and a WindowsMachine on vSphere has no field for the size of the disk.
func TestRecipeHasRoom(t *testing.T) {
	source := string(expect.Got(os.ReadFile(filepath.Join(root, "bootstrap", "windows", "datadrive.go")))(t))
	wanted := regexp.MustCompile(`fullDiskMiB = "(\d+)"`).FindStringSubmatch(source)
	if wanted == nil {
		t.Fatal("bootstrap/windows/datadrive.go has no fullDiskMiB")
	}
	free := expect.Got(strconv.Atoi(wanted[1]))(t)
	if disk, err := strconv.Atoi(imageRecipe(t)["disk_size"]); err != nil || disk < free+windowsMiB {
		t.Errorf("docs/images.md makes a disk of %d MiB (%v), and nodes want %d MiB free beside Windows", disk, err, free)
	}
}

// Who builds the image of docs/images.md finds it by the name that the other pages write.
func TestTemplateHasOneName(t *testing.T) {
	page := imagesPage(t)
	target := regexp.MustCompile(`make build-node-ova-vsphere-(\S+)`).FindStringSubmatch(page)
	if target == nil {
		t.Fatal("docs/images.md builds nothing for vSphere")
	}
	want := target[1] + "-kube-" + imageRecipe(t)["kubernetes_semver"] // build_version of packer-windows.json
	named, found := regexp.MustCompile(`\b(windows-20\d\d[\w.-]*-v[\d.]+\d)`), map[string]int{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/contributing/*.md", "templates/*.yaml"} {
		for _, file := range expect.Got(filepath.Glob(filepath.Join(root, pattern)))(t) {
			text := string(expect.Got(os.ReadFile(file))(t))
			for _, name := range named.FindAllString(text, -1) {
				if found[filepath.Base(file)]++; name != want {
					t.Errorf("%s names the template %s, and docs/images.md makes %s", file, name, want)
				}
			}
		}
	}
	for _, file := range []string{"images.md", "README.md", "install.md", "quick-start.md"} {
		if found[file] == 0 {
			t.Errorf("%s names no template with its Kubernetes version", file)
		}
	}
}

// imageRecipe is the file of variables by which docs/images.md builds an image.
func imageRecipe(t *testing.T) (recipe map[string]string) {
	t.Helper()
	_, rest, _ := strings.Cut(imagesPage(t), "```json\n")
	text, _, _ := strings.Cut(rest, "```\n")
	expect.OK(t, json.Unmarshal([]byte(text), &recipe))
	return recipe
}

func imagesPage(t *testing.T) string {
	t.Helper()
	return string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "images.md")))(t))
}
