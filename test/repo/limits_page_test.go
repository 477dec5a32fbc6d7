package repo

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What is not there fits on one screen, and each name on the page is one that a user meets: a reason, a field of ours, of a
// Machine, or one that names.md says we do not have.
func TestLimitsPage(t *testing.T) {
	const page = "docs/limits.md"
	rows := tableRows(t, page)
	if len(rows) == 0 || len(rows) > 20 {
		t.Errorf("%s has %d rows, want at most 20", page, len(rows))
	}
	reasons, fields := firstColumn(t, conditionsPage), fieldsOfOurs(t)
	theirs := slices.Collect(maps.Keys(fieldsOfTheirs(t)))
	for _, row := range rows {
		if len(row) != 2 || slices.Contains(row, "") {
			t.Errorf("%s: a row says what is not there, and what is instead: %v", page, row)
		}
		for _, found := range codeOfCell.FindAllStringSubmatch(strings.Join(row, " "), -1) {
			name := found[1]
			ofMachine := name == "bootstrap.dataSecretName"
			if !slices.Contains(reasons, name) && !slices.Contains(theirs, name) && !fields[name] && !ofMachine {
				t.Errorf("%s: %s is no reason, no field of ours and none of names.md", page, name)
			}
		}
	}
}

// A field of another provider that the page calls missing is missing in names.md, too, or has a substitute there that the page
// names.
func TestLimitsAreThoseOfNames(t *testing.T) {
	ours, lacking := fieldsOfTheirs(t), 0
	for _, row := range tableRows(t, "docs/limits.md") {
		for _, found := range codeOfCell.FindAllStringSubmatch(row[0], -1) {
			here, isTheirs := ours[found[1]]
			if !isTheirs {
				continue
			}
			lacking++
			named := slices.ContainsFunc(here, func(name string) bool { return strings.Contains(row[1], name) })
			if !slices.Contains(here, "-") && !named {
				t.Errorf("docs/limits.md calls %s missing, and docs/names.md has %v for it", found[1], here)
			}
		}
	}
	if lacking < 10 {
		t.Errorf("docs/limits.md has %d fields of other providers", lacking)
	}
}

// fieldsOfTheirs are the fields of docs/names.md, with what is here for them: several providers may have a field of one name. A
// table of two columns has those that are not needed.
func fieldsOfTheirs(t *testing.T) map[string][]string {
	t.Helper()
	theirs := map[string][]string{}
	for _, row := range tableRows(t, "docs/names.md") {
		here := "-"
		if len(row) > 2 {
			here = row[1]
		}
		for _, found := range codeOfCell.FindAllStringSubmatch(row[0], -1) {
			theirs[found[1]] = append(theirs[found[1]], here)
		}
	}
	return theirs
}

// fieldsOfOurs are the paths of all fields of our machines and configs, below spec and with it, and those of their status.
func fieldsOfOurs(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range []string{
		"config/crd/bases/infrastructure.cluster.x-k8s.io_windowsmachines.yaml",
		"config/crd/bases/infrastructure.cluster.x-k8s.io_windowsmachinetemplates.yaml",
		"config/crd/bases/bootstrap.cluster.x-k8s.io_windowsbootstrapconfigs.yaml",
	} {
		var crd fields
		expect.OK(t, yaml.Unmarshal(expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(file))))(t), &crd))
		versions := field(crd, "spec", "versions").([]any)
		addFields(all, "", field(versions[0].(fields), "schema", "openAPIV3Schema"))
	}
	for path := range all {
		all[strings.TrimPrefix(path, "spec.")] = true
	}
	if !all["vsphere.cpus"] || !all["kubelet.maxPods"] || all["kubelet.maxpods"] {
		t.Fatalf("the fields of the CRDs are not read: %d", len(all))
	}
	return all
}

func addFields(all map[string]bool, path string, schema any) {
	object, _ := schema.(fields)
	if items, isList := object["items"]; isList {
		all[path+"[]"] = true
		addFields(all, path+"[]", items)
	}
	properties, _ := object["properties"].(fields)
	for name, one := range properties {
		below := strings.TrimPrefix(path+"."+name, ".")
		all[below] = true
		addFields(all, below, one)
	}
}
