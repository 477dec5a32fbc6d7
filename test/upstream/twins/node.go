package twins

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// PowerShell is the one that tests run: $PWSH, or pwsh on PATH; or "".
func PowerShell() string {
	if named := os.Getenv("PWSH"); named != "" {
		return named
	}
	found, err := exec.LookPath("pwsh")
	if err != nil {
		return ""
	}
	return found
}

// Node is a PowerShell that lives long and carries out one case after the other. One that does not come to an end is replaced.
type Node struct {
	shell, repository string

	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  *bytes.Buffer
}

// longest is how long a plan may take that has an end. It takes a tenth of a second on an idle machine, and the first one waits
// for the start of PowerShell, on a busy machine half a minute.
const longest = 5 * time.Minute

// StartNode starts one on the scripts of a tree of this repository.
func StartNode(shell, repository string) (*Node, error) {
	n := &Node{shell: shell, repository: repository}
	return n, n.start()
}

func (n *Node) start() error {
	n.errors = &bytes.Buffer{}
	n.command = exec.Command(n.shell, "-NoProfile", "-NonInteractive", "-File", n.repository+"/test/upstream/twins/twins.ps1",
		"-Tests", n.repository+"/test/upstream/powershell")
	n.command.Stderr = n.errors
	in, err := n.command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := n.command.StdoutPipe()
	if err != nil {
		return err
	}
	n.in, n.out = in, bufio.NewReader(out)
	return n.command.Start()
}

// Close ends the PowerShell.
func (n *Node) Close() error {
	return errors.Join(n.in.Close(), n.command.Wait())
}

// Run carries out a case below dir.
func (n *Node) Run(c *Case, dir string) (Outcome, error) {
	base, vector, out := filepath.Join(dir, "m"), filepath.Join(dir, "vector.json"), filepath.Join(dir, "out.json")
	if err := os.WriteFile(vector, c.nodeVector(base), 0o600); err != nil {
		return nil, err
	}
	err := n.ask(encode(tree{"vector": vector, "base": base, "out": out, "culture": c.Culture}))
	if errors.Is(err, errNoEnd) {
		return Outcome{"died": noEnd}, n.start()
	}
	if err != nil {
		return nil, err
	}
	return readNode(out, base)
}

const noEnd = "it has no end"

var errNoEnd = errors.New("the PowerShell does not come to an end")

// ask waits until the PowerShell has carried out a plan.
func (n *Node) ask(job string) error {
	if _, err := io.WriteString(n.in, job+"\n"); err != nil {
		return fmt.Errorf("ask the PowerShell: %w: %s", err, n.errors.String())
	}
	out, done := n.out, make(chan error, 1)
	go func() {
		line, err := out.ReadString('\n')
		if err == nil && strings.TrimSpace(line) != "done" {
			err = fmt.Errorf("it answers %q", line)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("the PowerShell has ended: %w: %s", err, n.errors.String())
		}
		return nil
	case <-time.After(longest):
		killed := n.command.Process.Kill()
		answered := <-done
		ended := n.command.Wait()
		if killed != nil || answered == nil || ended == nil {
			return fmt.Errorf("end the PowerShell: %w", errors.Join(killed, answered, ended))
		}
		return errNoEnd
	}
}

func readNode(out, base string) (Outcome, error) {
	content, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	node, err := decode([]byte(text(content)))
	if err != nil {
		return nil, fmt.Errorf("read what the PowerShell found: %w", err)
	}
	o := Outcome(node.(tree))
	o["console"] = lines([]byte(strings.ReplaceAll(o["console"].(string), "\n", "\r\n")))
	var told []string
	done, _ := o["effects"].([]any)
	for _, effect := range done {
		line, _ := effect.(string)
		told = append(told, line)
	}
	o["effects"] = effects(told)
	if err := o.readDisk(base + "/C"); err != nil {
		return nil, err
	}
	o.renameEntries(base)
	o["access"] = o.nodeAccess(base)
	delete(o, "acl")
	return o, nil
}

// renameEntries: entries of a zip are called by the paths of files, which lie below base here.
func (o Outcome) renameEntries(base string) {
	for _, packed := range o["zips"].(tree) {
		entries, _ := packed.(tree)
		for name := range sortedKeys(entries) {
			if inside, ok := strings.CutPrefix(name, strings.TrimPrefix(base, "/")+"/C/"); ok {
				entries[inside] = entries[name]
				delete(entries, name)
			}
		}
	}
}

// nodeAccess are those of files and folders that are there: the stand-ins remember others, too.
func (o Outcome) nodeAccess(base string) tree {
	there := map[string]bool{}
	for _, path := range o["folders"].([]any) {
		there[path.(string)] = true
	}
	for path := range o["files"].(tree) {
		there[path] = true
	}
	found := tree{}
	acl, _ := o["acl"].(tree)
	for host, sddl := range acl {
		path := `C:\` + strings.ReplaceAll(strings.TrimPrefix(filepath.Clean(host), base+"/C/"), "/", `\`)
		if there[path] && sddl != windows.Inherited {
			found[path] = sddl
		}
	}
	return found
}
