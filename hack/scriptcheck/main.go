// Command scriptcheck checks the PowerShell of a node for what parsers and linters do not know: it is constant, plain and
// short, and the interpreter uses no word of a plan's data. It prints what is wrong, and fails.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// The scripts run as SYSTEM on every node, so a change of them is a decision that is made here. What is pinned must pass the
// vectors in bootstrap/plan/vectors, and a lint for Windows Server 2016 and 2019.
var pins = map[string]string{
	"the packed agent":                 "854c8f4a222c613838faa49e656e51b9f9312e8c85aa399e53f76a3753467b4d",
	"bootstrap/scripts/loader.ps1":     "85f79d72766734c9b3291bf54ead0ed652a6caed7f4594d807232836bf214b00",
	"bootstrap/windows/datadrive.ps1":  "922f77fe788fff42619ee523b39c64e267505d9fae8bbb31594ee90d903146b7",
	"bootstrap/windows/gmsaplugin.ps1": "4e5b70ca8743f6701e56991fc745d978860224d98fcbcec92c48374120c56c25",
	"bootstrap/windows/domainjoin.ps1": "960de05252de4418659c68c893cbea19563e201aef55f63a12a54f3d83dd3d7f",
}

// What a reader can take in, and how long user data may be without a plan.
const (
	longestLine     = 150
	longestFunction = 40
	mostLines       = 1620
	mostBytes       = 29_000
)

// script is one file, named from the root of the repository.
type script struct{ name, text string }

func main() {
	problems, err := check(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "scriptcheck:", err)
		os.Exit(2)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check tells everything that is wrong with the scripts of the repository in root.
func check(root string) ([]string, error) {
	all, err := readScripts(root)
	if err != nil {
		return nil, err
	}
	language, err := readLanguage(root)
	if err != nil {
		return nil, err
	}
	var problems []string
	lines := 0
	packed := script{"the packed agent", scripts.Agent()}
	for _, one := range append(all, packed) {
		problems = append(problems, pinned(one)...)
	}
	for _, one := range all {
		problems = append(problems, plain(one)...)
		problems = append(problems, functions(one)...)
		lines += strings.Count(one.text, "\n")
		if !strings.HasPrefix(one.name, "bootstrap/windows/") { // what lies there is a plan's data itself
			problems = append(problems, language.words(one)...)
		}
	}
	problems = append(problems, sizes(lines, len(scripts.UserData(nil)))...)
	problems = append(problems, language.unused()...)
	problems = append(problems, formats(string(scripts.UserData([]byte("{}"))))...)
	return append(problems, words(packed.text+scripts.Loader())...), nil
}

func readScripts(root string) ([]script, error) {
	var all []script
	for _, folder := range []string{"bootstrap/windows", "bootstrap/scripts"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.ps1"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, script{folder + "/" + filepath.Base(file), string(text)})
		}
	}
	if len(all) != 6 {
		return nil, fmt.Errorf("%d scripts, want 6: pin a new one, or say that one has gone", len(all))
	}
	return all, nil
}

func pinned(s script) []string {
	digest := sha256.Sum256([]byte(s.text))
	want, known := pins[s.name]
	if got := hex.EncodeToString(digest[:]); known && got != want {
		return []string{fmt.Sprintf("%s: it has the hash %s, pinned is %s", s.name, got, want)}
	}
	return nil
}

// plain wants ASCII, because Windows PowerShell 5.1 reads a script without a BOM in the code page of the machine, and LF,
// because other line ends would change the hash.
func plain(s script) []string {
	var problems []string
	for number, line := range strings.Split(s.text, "\n") {
		at := fmt.Sprintf("%s:%d", s.name, number+1)
		for _, char := range line {
			if char < ' ' || char > '~' {
				problems = append(problems, fmt.Sprintf("%s: the character %U is not plain ASCII", at, char))
			}
		}
		if len(line) > longestLine {
			problems = append(problems, fmt.Sprintf("%s: %d characters in a line, more than %d", at, len(line), longestLine))
		}
	}
	return problems
}

var functionHead = regexp.MustCompile(`^function ([\w-]+)`)

// functions finds long ones. A function ends with a brace in the first column, or in its first line.
func functions(s script) []string {
	var problems []string
	name, first := "", 0
	for number, line := range strings.Split(s.text, "\n") {
		if head := functionHead.FindStringSubmatch(line); head != nil {
			name, first = head[1], number
		}
		ends := strings.HasPrefix(line, "}") || number == first && strings.HasSuffix(line, "}")
		if name == "" || !ends {
			continue
		}
		if length := number - first + 1; length > longestFunction {
			problem := fmt.Sprintf("%s:%d: %s has %d lines, more than %d", s.name, first+1, name, length, longestFunction)
			problems = append(problems, problem)
		}
		name = ""
	}
	if name != "" {
		problems = append(problems, fmt.Sprintf("%s:%d: %s does not end", s.name, first+1, name))
	}
	return problems
}

func sizes(lines, bare int) []string {
	var problems []string
	if lines > mostLines {
		problems = append(problems, fmt.Sprintf("the scripts have %d lines, more than %d", lines, mostLines))
	}
	if bare > mostBytes {
		problems = append(problems, fmt.Sprintf("user data has %d bytes without a plan, more than %d", bare, mostBytes))
	}
	return problems
}

// formats finds in user data what would make cloudbase-init take it for another format, and places that are left empty.
func formats(userData string) []string {
	var problems []string
	if !strings.HasPrefix(userData, "#cloud-config\n") {
		problems = append(problems, "user data does not begin with #cloud-config: cloudbase-init would not read it as such")
	}
	return append(problems, contained("user data", userData, map[string]string{
		"@@":           "a place that nothing was put in",
		"multipart":    "MIME",
		"<powershell>": "EC2Config",
		"<script>":     "EC2Config",
		"template:":    "jinja",
	})...)
}

// words finds what no script of ours may do.
func words(scripts string) []string {
	return contained("a script", scripts, map[string]string{
		"@@":                      "a place that nothing was put in",
		"invoke-expression":       "data as code",
		"convertto-securestring ": "a password in a script", //nolint:gocritic // because ConvertTo-SecureStringX is another command
	})
}

func contained(what, text string, reasons map[string]string) []string {
	var problems []string
	for word, reason := range reasons {
		if strings.Contains(strings.ToLower(text), word) {
			problems = append(problems, fmt.Sprintf("%s contains %q: %s", what, word, reason))
		}
	}
	return problems
}
