// Package programs holds what we render for kube-proxy, flanneld and the programs of CNI against these programs themselves: forms
// of it are read from the golden plans, and the tables beside this file say what the programs made of them (see check.sh).
package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Form is what one program is given: its arguments, of a service of the plan, and the file that it reads.
type Form struct {
	Program string
	// Golden is a plan that has it; most forms stand in several.
	Golden string
	Args   []string
	Text   string
}

// Digest is the form's name in a table.
func (f Form) Digest() string {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(f.Args), f.Text), "\x00")))
	return hex.EncodeToString(sum[:6])
}

// sample are the values of facts that stand in what we render.
var sample = map[string]string{
	"podPrefix": "10.244.3", "machineSubnet": "10.1.2.0/24", "nodeAddress": "10.1.2.3", "managementIP": "10.1.2.3",
	"sourceVIP": "10.244.3.254",
}

// upstreams are settings of flanneld as flannel-io/flannel cdf76059 documents them for Windows (Documentation/backends.md): what
// these programs make of them is known, whatever we render.
var upstreams = []Form{
	{
		Program: "flanneld", Golden: "upstream, Overlay", Args: usual["flanneld"],
		Text: `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`,
	},
	{
		Program: "flanneld", Golden: "upstream, L2Bridge", Args: usual["flanneld"],
		Text: `{"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}}`,
	},
}

// Forms reads all golden plans of a folder, and has each form once, and upstream's.
func Forms(folder string) ([]Form, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	forms := slices.Clone(upstreams)
	seen := map[string]bool{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var tree any
		if err := json.Unmarshal(content, &tree); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, form := range formsOf(tree) {
			if key := form.Program + form.Digest(); !seen[key] {
				seen[key] = true
				form.Golden = strings.TrimSuffix(filepath.Base(path), ".json")
				forms = append(forms, form)
			}
		}
	}
	return forms, nil
}

// formsOf pairs the files of a plan with the arguments of the services that read them.
func formsOf(tree any) []Form {
	found := &found{args: map[string][]string{}}
	found.walk(tree)
	for i, form := range found.forms {
		if found.forms[i].Args = found.args[form.Program]; found.forms[i].Args == nil {
			found.forms[i].Args = usual[form.Program]
		}
	}
	return found.forms
}

// usual are the arguments of a program whose file a plan has, but not the service that starts it.
var usual = map[string][]string{
	"kube-proxy": {"--windows-service", `--config=C:\etc\kube-proxy\config.conf`},
	"flanneld":   {"--kube-subnet-mgr"},
}

type found struct {
	forms []Form
	args  map[string][]string
}

func (f *found) walk(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		f.step(tree)
		for _, part := range tree {
			f.walk(part)
		}
	case []any:
		for _, part := range tree {
			f.walk(part)
		}
	}
}

// step looks at what may be a step: a file that a program reads, a service's command, or a registry value with arguments.
func (f *found) step(step map[string]any) {
	if program := readBy(text(step["path"]), text(step["text"])); program != "" {
		f.forms = append(f.forms, Form{Program: program, Text: text(step["text"])})
	}
	var words []string
	if command, ok := step["command"].([]any); ok {
		for _, word := range command {
			words = append(words, text(word))
		}
	}
	if step["valueName"] == "AppParameters" {
		words = strings.Fields(text(step["value"]))
		words = append([]string{"flanneld.exe"}, words...)
	}
	for program, exe := range map[string]string{"kube-proxy": "kube-proxy.exe", "flanneld": "flanneld.exe"} {
		at := slices.IndexFunc(words, func(word string) bool { return strings.HasSuffix(word, exe) })
		if at >= 0 && at+1 < len(words) {
			f.args[program] = words[at+1:]
		}
	}
}

// readBy says which program reads a file. Those of a folder net.d name it themselves.
func readBy(path, content string) string {
	switch {
	case content == "":
		return ""
	case strings.HasSuffix(path, `\kube-proxy\config.conf`):
		return "kube-proxy"
	case strings.HasSuffix(path, `\net-conf.json`):
		return "flanneld"
	case strings.Contains(path, `\cni\net.d\`):
		var conf struct{ Type string }
		if json.Unmarshal([]byte(content), &conf) == nil {
			return conf.Type
		}
	}
	return ""
}

// text resolves what is a text, or a list of texts and facts.
func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case map[string]any:
		name, _ := value["fact"].(string)
		if known := sample[name]; known != "" {
			return known
		}
		return "(fact " + name + ")" // No program takes it, so that a fact without a sample is seen.
	case []any:
		var out strings.Builder
		for _, part := range value {
			out.WriteString(text(part))
		}
		return out.String()
	}
	return ""
}
