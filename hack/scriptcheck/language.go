package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// language tells the words of the interpreter from those of a plan.
type language struct {
	// data are words of plans, each with its origin: all texts of the golden plans, reasons, network modes, CNIs and clouds.
	data map[string]string
	// own are words of the language of plans: kinds, fields and constants.
	own map[string]bool
	// met are words of allowed that were seen.
	met map[string]bool
}

// allowed are words of plans that the interpreter uses in another sense.
var allowed = map[string]string{
	"networkadaptername": "a field of what HNS is asked for",
	"nssm":               "a wrapper that a service of the image may have",
	"vethernet (":        "how HNS names the adapter of a vSwitch",

	"-noninteractive":  "how PowerShell is started",
	"-noprofile":       "how PowerShell is started",
	"-executionpolicy": "how PowerShell is started",
	"-file":            "how PowerShell is started",
	"copy":             "English",
	"hns":              "the service that makes networks",
	"network":          "English",
	"powershell":       "the language of the scripts",

	"application": "part of the type of JSON",

	"0.0.0.0":  "where the default route leads",
	"add":      "English",
	"delete":   "English",
	"rule":     "English",
	"binpath=": "an option of sc.exe",
	`c:\run`:   "above the sentinel",

	`c:\run\cluster-api`: "the folder of the sentinel",

	`hkey_local_machine\system\currentcontrolset\control\session manager\environment`: "the variables of the machine",
	`hkey_local_machine\software\microsoft\windows nt\currentversion`:                 "what Windows tells of itself",

	"config":    "a verb of sc.exe",
	"enabled":   "DHCP is",
	"failure":   "a verb of sc.exe, and English",
	"get":       "part of PowerShell's names",
	"imagepath": "the command line of a service in Windows' registry",
	"interface": "what has addresses",
	"ipv4":      "a family of addresses",
	"ipv6":      "a family of addresses",
	"join":      "an operator of PowerShell",
	"list":      "English",
	"logs":      "the folder of the output of programs",
	"net":       "a namespace of .NET",
	"node":      "a field of a plan's machine, and of a tree",
	"none":      "English",
	"root":      "a parameter of the scripts",
	"sc.exe":    "makes services, for the kind service",
	"short":     "English",
	"start=":    "an option of sc.exe",
	"stop":      "a word of PowerShell, and a verb of sc.exe",
	"system":    "a namespace of .NET",
	"version":   "a field of a plan",
	"windows":   "Windows",
}

// engineReasons are given by the interpreter itself.
var engineReasons = []string{
	step.ReasonPlanNotUnderstood, step.ReasonBootstrapTimeout, step.ReasonTooManyReboots,
	step.ReasonFactsUnavailable, step.ReasonRebootFailed, step.ReasonStepHung, step.ReasonAddressMissing,
	step.ReasonInternalError,
}

// ownPaths are the interpreter's: its folders, and the sentinel that Cluster API knows.
var ownPaths = []string{
	`C:\ProgramData\capwin`, `C:\ProgramData\capwin\logs`, `C:\run\cluster-api\bootstrap-success.complete`,
}

var (
	pathText    = regexp.MustCompile(`[A-Za-z?]:\\[\w.\\-]+`)
	programText = regexp.MustCompile(`^[A-Z]:\\.*\\([\w-]+)\.exe$`)
	versionText = regexp.MustCompile(`\b[vV]?1\.[23]\d\b`)
)

// readLanguage reads the words from the sources that define them.
func readLanguage(root string) (*language, error) {
	l := &language{data: map[string]string{}, own: map[string]bool{}, met: map[string]bool{}}
	if err := l.readPlans(root + "/bootstrap/testdata/golden"); err != nil {
		return nil, err
	}
	for _, reason := range bootstrap.Reasons() {
		if !slices.Contains(engineReasons, reason) {
			l.data[strings.ToLower(reason)] = "a reason"
		}
	}
	modes, err := constants(root + "/api/bootstrap/v1beta1/network_types.go")
	if err != nil {
		return nil, err
	}
	for _, word := range modes {
		l.data[strings.ToLower(word)] = "a network mode, a CNI or a setting of theirs"
	}
	clouds, err := os.ReadDir(root + "/internal/cloud")
	if err != nil {
		return nil, err
	}
	for _, cloud := range clouds {
		if cloud.IsDir() {
			l.data[strings.ToLower(cloud.Name())] = "a cloud"
		}
	}
	return l, l.readOwn(root + "/bootstrap/plan")
}

// readPlans takes every text of the golden plans, and those names in their objects that are data.
func (l *language) readPlans(folder string) error {
	files, err := filepath.Glob(folder + "/*.json")
	if err != nil {
		return err
	}
	if len(files) < 40 {
		return fmt.Errorf("%d golden plans in %s, want 40 or more", len(files), folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		for _, part := range []string{"phases", "everyBoot", "background", "logs", "erase"} {
			l.collect(document[part], false)
		}
	}
	return nil
}

// collect takes texts, and names where they are a plan's own: variables of programs, and trees.
func (l *language) collect(node any, names bool) {
	switch node := node.(type) {
	case string:
		l.data[strings.ToLower(node)] = "a golden plan"
		if found := programText.FindStringSubmatch(node); found != nil {
			l.data[strings.ToLower(found[1])] = "a program of a golden plan"
		}
	case []any:
		for _, item := range node {
			l.collect(item, names)
		}
	case map[string]any:
		for name, item := range node {
			if names {
				l.data[strings.ToLower(name)] = "a golden plan"
			}
			l.collect(item, names || slices.Contains([]string{"variables", "environment", "patch", "request"}, name))
		}
	}
}

// readOwn takes kinds, their fields, and the constants of the language.
func (l *language) readOwn(folder string) error {
	for _, step := range plan.Kinds() {
		l.own[strings.ToLower(string(plan.KindOf(step)))] = true
		l.fields(reflect.TypeOf(step).Elem())
	}
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		return err
	}
	for _, file := range files {
		words, err := constants(file)
		if err != nil {
			return err
		}
		for _, word := range words {
			l.own[strings.ToLower(word)] = true
		}
	}
	// What validation takes for the protocol of a rule.
	l.own["tcp"], l.own["udp"] = true, true
	return nil
}

func (l *language) fields(of reflect.Type) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		l.own[strings.ToLower(name)] = true
		if field.Anonymous {
			l.fields(field.Type)
		}
	}
}

// constants are the texts of the constants in a Go file.
func constants(file string) ([]string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, declaration := range tree.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		ast.Inspect(block, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					all = append(all, text)
				}
			}
			return true
		})
	}
	return all, nil
}

// words finds the words of a plan's data in a script. It leaves out numbers and words of one or two letters.
func (l *language) words(s script) []string {
	var problems []string
	text := strings.ToLower(s.text)
	for _, word := range slices.Sorted(maps.Keys(l.data)) {
		_, err := strconv.Atoi(word)
		if len(word) < 3 || err == nil || l.own[word] || !says(text, word) {
			continue
		}
		if allowed[word] != "" {
			l.met[word] = true
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: it says %q, which is data: %s", s.name, word, l.data[word]))
	}
	for _, path := range pathText.FindAllString(s.text, -1) {
		if !slices.Contains(ownPaths, strings.TrimRight(path, `\`)) {
			problems = append(problems, fmt.Sprintf("%s: it says the path %s, which is a plan's to say", s.name, path))
		}
	}
	for _, version := range versionText.FindAllString(s.text, -1) {
		problems = append(problems, fmt.Sprintf("%s: it says %s, which looks like a version of Kubernetes", s.name, version))
	}
	return problems
}

// says finds a word that is not part of another one.
func says(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !letter(text[at-1])) && (end == len(text) || !letter(text[end])) {
			return true
		}
		from = at + 1
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// unused finds exceptions that are not needed: they would hide a word that comes back.
func (l *language) unused() []string {
	var problems []string
	for _, word := range slices.Sorted(maps.Keys(allowed)) {
		if !l.met[word] {
			problems = append(problems, fmt.Sprintf("the scripts do not say %q, or no plan does: it need not be allowed", word))
		}
	}
	return problems
}
