package repo

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const troublePage = "docs/troubleshooting.md"

// Each row has a symptom, one command, and where to read on. A reader sees all of them on two screens.
func TestTroubleshootingRows(t *testing.T) {
	rows := tableRows(t, troublePage)
	if len(rows) == 0 || len(rows) > 30 {
		t.Errorf("%s has %d rows, want at most 30", troublePage, len(rows))
	}
	for _, row := range rows {
		if len(row) != 3 || row[0] == "" || len(linksOf(row[2])) == 0 {
			t.Errorf("%s: a row has a symptom, a command and a link: %v", troublePage, row)
			continue
		}
		command, isCode := strings.CutPrefix(row[1], "`")
		command, ends := strings.CutSuffix(command, "`")
		if !isCode || !ends || strings.Contains(command, "`") {
			t.Errorf("%s: a row has one command: %s", troublePage, row[1])
			continue
		}
		wantCommand(t, command)
	}
}

// What the page shows of a refused change is what our policy says.
func TestTroubleshootingShowsThePolicy(t *testing.T) {
	const refused = "templates are immutable; copy this one to a new name"
	for _, file := range []string{troublePage, "config/policy/immutable_templates.yaml"} {
		if !strings.Contains(string(expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(file))))(t)), refused) {
			t.Errorf("%s does not have: %s", file, refused)
		}
	}
}

// kubectlWords are the verbs and kinds of the page: kubectl has the first, and the kinds are Kubernetes', Cluster API's and ours.
var kubectlWords = map[string][]string{
	"get": {
		"windowsmachines", "windowsmachine", "windowsmachinetemplates", "pods", "configmaps", "nodes", "secrets,configmaps",
		"ipaddressclaims", "machine",
	},
	"describe": {"machinedeployment", "windowsbootstrapconfig", "windowsmachine", "pod", "machine", "machinehealthcheck"},
	"delete":   {"machine"},
	"logs":     {"deploy/capwin-infrastructure-controller-manager"},
}

var jsonPath = regexp.MustCompile(`get windowsmachine NAME -o jsonpath=\{\.([a-zA-Z.]+)\}`)

// wantCommand wants a command of kubectl whose kinds and paths there are, or one that the plugin's own page has with its flags.
func wantCommand(t *testing.T, command string) {
	t.Helper()
	if found := jsonPath.FindStringSubmatch(command); len(found) > 1 && !fieldsOfOurs(t)[found[1]] {
		t.Errorf("%s: a WindowsMachine has no %s", command, found[1])
	}
	words := strings.Fields(strings.ReplaceAll(command, "--kubeconfig workload.kubeconfig ", ""))
	if words[0] == "clusterctl" {
		wantPluginCommand(t, command)
		return
	}
	kinds := kubectlWords[words[1]]
	if words[0] != "kubectl" || !slices.ContainsFunc(words[2:], func(word string) bool { return slices.Contains(kinds, word) }) {
		t.Errorf("%s: no such command is known", command)
	}
}

// wantPluginCommand finds the command's section of the page that its help makes, and its flags there.
func wantPluginCommand(t *testing.T, command string) {
	t.Helper()
	name, _, _ := strings.Cut(command, " -")
	section := pageSection(t, "docs/clusterctl-windows.md", name)
	for word := range strings.FieldsSeq(command) {
		if strings.HasPrefix(word, "-") && !strings.Contains(section, " "+word) {
			t.Errorf("%s: it has no flag %s", command, word)
		}
	}
}

// The reasons that need a person first are on the page: those by which an object is stalled, those for which a first machine
// waits, and those of the table of what is replaced.
func TestTroubleshootingReasons(t *testing.T) {
	known := append(firstColumn(t, conditionsPage), "TooManyUnhealthy") // Cluster API's, of a MachineHealthCheck
	text := string(expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(troublePage))))(t))
	var named []string
	for _, found := range codeOfCell.FindAllStringSubmatch(text, -1) {
		if reasonForm.MatchString(found[1]) {
			named = append(named, found[1])
		}
	}
	for _, name := range named {
		if !slices.Contains(known, name) {
			t.Errorf("%s: %s is no reason", troublePage, name)
		}
	}
	want := stallingReasons(t)
	want = append(want, reasonsIn(t, conditionsPage, "What Windows waits for", known)...)
	want = append(want, reasonsIn(t, "docs/health.md", "What is replaced", known)...)
	slices.Sort(want)
	want = slices.Compact(want)
	if len(want) < 30 {
		t.Errorf("only %d reasons are wanted", len(want))
	}
	guests := bootstrap.Reasons() // one row is for all of them
	for _, name := range want {
		if !slices.Contains(named, name) && !slices.Contains(guests, name) {
			t.Errorf("%s lacks %s", troublePage, name)
		}
	}
}

// reasonForm is that of two words or more, such as NodeMissing, VMVanished and WaitingForClusterCA.
var reasonForm = regexp.MustCompile(`^([A-Z]+[a-z]+[A-Za-z]*[A-Z][A-Za-z]*|[A-Z]{2,}[a-z]+)$`)

// stallingReasons are those that the controllers give to phase.Stall and phase.Lack: a person must change something.
func stallingReasons(t *testing.T) []string {
	t.Helper()
	var all []string
	controllers := filepath.Join(root, "controllers")
	expect.OK(t, filepath.WalkDir(controllers, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := read(root, file)
		if err != nil {
			return err
		}
		ast.Inspect(source.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				all = append(all, stalling(call)...)
			}
			return true
		})
		return nil
	}))
	slices.Sort(all)
	return slices.Compact(all)
}

// stalling is the reason of a call of phase.Stall or phase.Lack.
func stalling(call *ast.CallExpr) []string {
	act, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector || act.Sel.Name != "Stall" && act.Sel.Name != "Lack" {
		return nil
	}
	if from, ok := act.X.(*ast.Ident); !ok || from.Name != "phase" {
		return nil
	}
	reason, named := call.Args[0].(*ast.SelectorExpr)
	if !named {
		return nil
	}
	return []string{strings.TrimSuffix(reason.Sel.Name, "Reason")}
}

// reasonsIn are the reasons in a section of a page. A condition is none, such as CNIReady.
func reasonsIn(t *testing.T, page, heading string, known []string) []string {
	t.Helper()
	var conditions, all []string
	for _, row := range rowsOf(pageSection(t, conditionsPage, "Conditions")) {
		conditions = append(conditions, strings.Trim(row[0], "`"))
	}
	for _, code := range codeOfCell.FindAllStringSubmatch(pageSection(t, page, heading), -1) {
		name := code[1]
		if slices.Contains(known, name) && reasonForm.MatchString(name) && !slices.Contains(conditions, name) {
			all = append(all, name)
		}
	}
	return all
}

func pageSection(t *testing.T, page, heading string) string {
	t.Helper()
	text := string(expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(page))))(t))
	_, section, found := strings.Cut(text, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	return section
}
