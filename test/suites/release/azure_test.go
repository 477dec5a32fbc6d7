package release

import (
	"encoding/base64"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// The webhooks of Cluster API's Azure provider read these fields, also in the templates of a class (v1.27.0, internal/webhooks:
// ValidateUserAssignedIdentity, ValidateSSHKey). An empty key is replaced by a random one, so that the same file, applied again,
// would change what is immutable.
func TestAzureTakesFields(t *testing.T) {
	t.Parallel()
	u := offline(t)
	u.variables = map[string]string{"WINDOWS_CLOUD": "azure"}
	for flavor, want := range map[string]struct{ identities, keys int }{
		"windows":       {1, 0}, // in the class
		"windows-azure": {1, 2},
	} {
		identities, keys := 0, 0
		for _, object := range objectsIn(t, u.generate("demo", "--flavor", flavor)) {
			if object["kind"] != "AzureMachineTemplate" {
				continue
			}
			leaves := map[string]any{}
			walk(leaves, "", object)
			for path, leaf := range leaves {
				text, _ := leaf.(string)
				switch {
				case strings.HasSuffix(path, ".providerID"):
					identities++
					id, found := strings.CutPrefix(text, "azure://")
					if _, err := arm.ParseResourceID(id); err != nil || !found {
						t.Errorf("%s: %s is %q, no resource ID: %v", flavor, path, text, err)
					}
				case strings.HasSuffix(path, ".sshPublicKey"):
					keys++
					wantAuthorizedKey(t, text)
				}
			}
		}
		if identities != want.identities || keys != want.keys {
			t.Errorf("%s has %d identities and %d keys, want %+v", flavor, identities, keys, want)
		}
	}
}

// wantAuthorizedKey takes the base64 of a line as in authorized_keys: a type and a key that begins with the same type.
func wantAuthorizedKey(t *testing.T, text string) {
	t.Helper()
	line, err := base64.StdEncoding.DecodeString(text)
	parts := strings.Fields(string(line))
	if err != nil || len(parts) < 2 {
		t.Errorf("SSH key %q is no base64 of a key: %v", text, err)
		return
	}
	key, err := base64.StdEncoding.DecodeString(parts[1])
	if size := len(parts[0]); err != nil || len(key) < 4+size || string(key[4:4+size]) != parts[0] {
		t.Errorf("SSH key %q is no key of the type %s: %v", parts[1], parts[0], err)
	}
}

// Below 100 GB free a node warns of MachineTooSmall, and images may have small disks.
func TestAzureDisks(t *testing.T) {
	t.Parallel()
	u := offline(t)
	u.variables = map[string]string{"WINDOWS_CLOUD": "azure"}
	for _, flavor := range []string{"windows", "windows-azure", "windows-pool-azure"} {
		found := 0
		for _, object := range objectsIn(t, u.generate("demo", "--flavor", flavor)) {
			if object["kind"] != "WindowsMachineTemplate" {
				continue
			}
			leaves := map[string]any{}
			walk(leaves, "", object)
			found++
			if got := leaves[".spec.template.spec.azure.osDisk.sizeGiB"]; got != any(128.0) {
				t.Errorf("%s: the disk has %v GiB, want 128", flavor, got)
			}
		}
		if found != 1 {
			t.Errorf("%s has %d WindowsMachineTemplates", flavor, found)
		}
	}
}

// The flavors take the images of the gallery that the Azure provider takes, and the names of Clusters that its webhook takes.
func TestValuesOfTheAzureProvider(t *testing.T) {
	t.Parallel()
	source := expect.Got(servers.CAPZSource(t.Context()))(t)
	defaults := constants(t, filepath.Join(source, "azure", "defaults.go"))
	webhook := constants(t, filepath.Join(source, "internal", "webhooks", "azurecluster_validation.go"))
	gallery, image := defaults["DefaultPublicGalleryName"], defaults["DefaultWindowsGalleryImageName"]
	for _, file := range []string{
		"templates/clusterclass-windows-azure.yaml", "templates/cluster-template-windows.yaml", "docs/install-azure.md",
		"templates/cluster-template-windows-azure.yaml", "templates/cluster-template-windows-pool-azure.yaml",
	} {
		text := string(expect.Got(os.ReadFile("../../../" + file))(t))
		for want, like := range map[string]string{gallery: `ClusterAPI-[0-9a-f-]+`, image: `capi-win-\d+-[a-z]+`} {
			found := regexp.MustCompile(like).FindAllString(text, -1)
			if len(found) == 0 {
				t.Errorf("%s has %q, want %s", file, found, want)
			}
			for _, one := range found {
				expect.Same(t, "value in "+file, want, one)
			}
		}
	}
	class := string(expect.Got(os.ReadFile("../../../templates/clusterclass-windows-azure.yaml"))(t))
	wantIn(t, class, "(regexMatch "+strconv.Quote(webhook["clusterNameRegex"])+" .builtin.cluster.name)")
}

// constants are those of a Go file that are strings.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	all := map[string]string{}
	ast.Inspect(expect.Got(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				all[name.Name] = expect.Got(strconv.Unquote(literal.Value))(t)
			}
		}
		return true
	})
	return all
}
