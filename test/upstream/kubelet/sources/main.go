// Command sources reads what a kubelet takes out of the sources of Kubernetes, for the versions that are too many to be
// built: flags, feature gates and fields of the configuration, as JSON. What it says of those that are built, the oldest
// among them, is compared with what the built ones say.
//
//	sources 1.30.14
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Where a kubelet has its flags, feature gates and fields from. A file that a version has not is left out.
var (
	gateFiles = []string{
		"kubernetes/pkg/features/kube_features.go", "kubernetes/pkg/features/versioned_kube_features.go",
		"apiserver/pkg/features/kube_features.go",
		"client-go/features/known_features.go", "component-base/logs/api/v1/kube_features.go",
		"component-base/metrics/features/kube_features.go", "component-base/zpages/features/kube_features.go",
		"apiextensions-apiserver/pkg/features/kube_features.go", "controller-manager/pkg/features/kube_features.go",
	}
	flagFiles = []string{
		"kubernetes/cmd/kubelet/app/options/options.go", "kubernetes/cmd/kubelet/app/options/osflags_windows.go",
		"kubernetes/pkg/kubelet/config/flags.go", "component-base/logs/api/v1/options.go",
	}
	fieldFile = "kubelet/config/v1beta1/types.go"
	// foreign gate files only name gates of others: what the kubelet registers stands in the first five.
	foreign = gateFiles[7:]
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sources 1.30.14")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// reader reads the sources of one version.
type reader struct {
	version string
	minor   int
	// constants by name, for gates and flags that are named by one, and for defaults.
	constants map[string]string
}

func run(version string) error {
	minor, err := strconv.Atoi(strings.Split(version, ".")[1])
	if err != nil {
		return fmt.Errorf("version %s: %w", version, err)
	}
	r := &reader{version: version, minor: minor, constants: map[string]string{}}
	gates, err := r.parseAll(gateFiles)
	if err != nil {
		return err
	}
	flags, err := r.parseAll(flagFiles)
	if err != nil {
		return err
	}
	fields, err := r.parseAll([]string{fieldFile})
	if err != nil {
		return err
	}
	known := map[string]any{"flags": r.flags(flags), "gates": r.gates(gates), "fields": fieldNames(fields)}
	if needs := r.needs(gates[gateFiles[0]]); len(needs) > 0 {
		known["needs"] = needs
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(known)
}

func (r *reader) parseAll(names []string) (map[string]*ast.File, error) {
	files := map[string]*ast.File{}
	for _, name := range names {
		path, err := r.path(name)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			continue // not in this version
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), path, nil, 0); err != nil {
			return nil, err
		}
		r.remember(files[name])
	}
	return files, nil
}

// path is where a file of the version is on this disk: "apiserver/a.go" in module k8s.io/apiserver.
func (r *reader) path(name string) (string, error) {
	module, file, _ := strings.Cut(name, "/")
	version := "v0" + strings.TrimPrefix(r.version, "1")
	if module == "kubernetes" {
		version = "v" + r.version
	}
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/"+module+"@"+version).Output()
	var found struct{ Dir string }
	if json.Unmarshal(out, &found) != nil || found.Dir == "" {
		return "", fmt.Errorf("get k8s.io/%s %s: %w", module, version, err)
	}
	return filepath.Join(found.Dir, file), nil
}

func (r *reader) remember(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if text, ok := literal(value); ok {
				r.constants[spec.Names[i].Name] = text
			} else if r.isTrue(value) {
				r.constants[spec.Names[i].Name] = "true"
			}
		}
		return true
	})
}

// gates are in maps from a gate to its specification, or to one for each version that changed it.
func (r *reader) gates(files map[string]*ast.File) map[string]string {
	found := map[string]string{}
	for name, file := range files {
		if slices.Contains(foreign, name) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if spec, ok := pair.Value.(*ast.CompositeLit); ok && spec.Type == nil {
				if words, ok := r.specification(spec); ok {
					found[r.text(pair.Key)] = words
				}
			}
			return true
		})
	}
	return found
}

// needs are the gates that must be on where a gate is. They are in one map of the first file, from 1.35 on.
func (r *reader) needs(file *ast.File) map[string][]string {
	found := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "defaultKubernetesFeatureGateDependencies" {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			pair := element.(*ast.KeyValueExpr)
			name := r.text(pair.Key)
			for _, needed := range pair.Value.(*ast.CompositeLit).Elts {
				found[name] = append(found[name], r.text(needed))
			}
			slices.Sort(found[name])
			if found[name] == nil {
				delete(found, name)
			}
		}
		return false
	})
	return found
}

func (r *reader) specification(spec *ast.CompositeLit) (words string, known bool) {
	if len(spec.Elts) == 0 {
		return "", false
	}
	if _, versioned := spec.Elts[0].(*ast.CompositeLit); !versioned {
		return r.stage(spec), attribute(spec, "PreRelease") != nil
	}
	for _, element := range spec.Elts {
		one := element.(*ast.CompositeLit)
		// A kubelet is compatible with the version before its own, and leaves out what asks for more.
		if minor(one, "Version") <= r.minor && minor(one, "MinCompatibilityVersion") < r.minor {
			words, known = r.stage(one), true
		}
	}
	return words, known
}

// minor is the minor version of {Version: version.MustParse("1.30"), ...}.
func minor(spec *ast.CompositeLit, name string) int {
	call, ok := attribute(spec, name).(*ast.CallExpr)
	if !ok {
		return 0
	}
	text, _ := literal(call.Args[0])
	number, _ := strconv.Atoi(strings.TrimPrefix(text, "1."))
	return number
}

func (r *reader) stage(spec *ast.CompositeLit) string {
	words := "off"
	if r.isTrue(attribute(spec, "Default")) {
		words = "on"
	}
	if r.isTrue(attribute(spec, "LockToDefault")) {
		words += " locked"
	}
	return words
}

func attribute(spec *ast.CompositeLit, name string) ast.Expr {
	for _, element := range spec.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
			return pair.Value
		}
	}
	return nil
}

// isTrue also sees through a constant.
func (r *reader) isTrue(value ast.Expr) bool {
	name, ok := value.(*ast.Ident)
	return ok && (name.Name == "true" || r.constants[name.Name] == "true")
}

// flags are the second argument of calls such as fs.StringVar(&f.KubeConfig, "kubeconfig", ...).
func (r *reader) flags(files map[string]*ast.File) []string {
	found := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !strings.HasSuffix(strings.TrimRight(method.Sel.Name, "PF"), "Var") {
				return true
			}
			if name := r.text(call.Args[1]); name != "name" { // a helper that hands the name on
				found[name] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

func fieldNames(files map[string]*ast.File) []string {
	var names []string
	ast.Inspect(files[fieldFile], func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "KubeletConfiguration" {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			tag, _ := strconv.Unquote(field.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if name != "" {
				names = append(names, name)
			}
		}
		return false
	})
	slices.Sort(names)
	return names
}

// text is what an expression says: a literal, or a constant's value, or else its name.
func (r *reader) text(expression ast.Expr) string {
	name := ""
	switch e := expression.(type) {
	case *ast.BasicLit:
		name, _ = literal(e)
		return name
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	case *ast.CallExpr: // a conversion: featuregate.Feature(clientfeatures.AtomicFIFO)
		return r.text(e.Args[0])
	}
	if value, ok := r.constants[name]; ok {
		return value
	}
	return name
}

func literal(expression ast.Expr) (string, bool) {
	lit, ok := expression.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
