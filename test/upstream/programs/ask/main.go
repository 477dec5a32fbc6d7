// Command ask gives what we render to the programs that check.sh has built, and says what they made of it.
//
//	ask [-write] GOLDENS TABLES BUILT...
//
// It fails if a program refuses a form or takes a broken one, and if a table says something else; -write writes the tables anew.
// BUILT are folders with a program of a version each: kube-proxy-v1.36.3, flanneld-v0.28.9, plugins-v1.10.0.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/upstream/programs"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("ask", flag.ContinueOnError)
	write := flags.Bool("write", false, "write the tables anew")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 3 {
		return errors.New("ask wants [-write] GOLDENS TABLES BUILT and more that were built")
	}
	forms, err := programs.Forms(flags.Arg(0))
	if err != nil {
		return err
	}
	wrong := 0
	for _, folder := range flags.Args()[2:] {
		if err := sizes(folder); err != nil {
			return err
		}
		for _, a := range programsOf(folder) {
			a.all(forms)
			if err := a.keep(flags.Arg(1), *write); err != nil {
				return err
			}
			wrong += a.wrong
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d are not as wanted", wrong)
	}
	return nil
}

// programsOf are the programs that a folder has. Of flannel.exe it has none, but Delegate.
func programsOf(folder string) []*asked {
	name, version, _ := strings.Cut(filepath.Base(folder), "-v")
	var all []*asked
	for _, program := range inFolder[name] {
		table := programs.Table{Program: program, Version: "v" + version, Takes: map[string]string{}, Refuses: map[string]string{}}
		if program == "flannel" {
			table.Version = programs.FlannelCommit
		}
		all = append(all, &asked{folder: folder, table: table})
	}
	return all
}

var inFolder = map[string][]string{
	"kube-proxy": {"kube-proxy"}, "flanneld": {"flanneld"}, "plugins": {"win-bridge", "win-overlay", "host-local", "flannel"},
}

func sizes(folder string) error {
	built, err := filepath.Glob(filepath.Join(folder, "*.exe"))
	if err != nil {
		return err
	}
	for _, exe := range built {
		info, err := os.Stat(exe)
		if err != nil {
			return err
		}
		fmt.Printf("%s of %s: %.1f MB\n", filepath.Base(exe), filepath.Base(folder), float64(info.Size())/1e6)
	}
	return nil
}

type asked struct {
	folder string
	table  programs.Table
	wrong  int
}

// all gives the program each of its forms, and breaks the first that has what a change breaks.
func (a *asked) all(forms []programs.Form) {
	var mine []programs.Form
	for _, form := range forms {
		for _, one := range programs.For(a.table.Program, form) {
			mine = append(mine, one)
			if says, err := a.give(one, one); err != nil {
				a.tell("%s refuses what %s has: %v\n%s", a.name(), one.Golden, err, says)
				continue
			}
			if digest := one.Digest(); a.table.Takes[digest] == "" {
				a.table.Takes[digest] = one.Golden
			}
		}
	}
	for _, change := range programs.Broken[a.table.Program] {
		a.breaks(mine, change)
	}
	fmt.Printf("%s takes %d forms that we render, refuses %d of %d broken ones\n", a.name(), len(a.table.Takes),
		len(a.table.Refuses), len(programs.Broken[a.table.Program]))
}

func (a *asked) breaks(mine []programs.Form, change programs.Change) {
	for _, form := range mine {
		broken, ok := change.Apply(form)
		if !ok {
			continue
		}
		says, err := a.give(broken, form)
		if err == nil {
			a.tell("%s takes the broken form %s of %s", a.name(), change.Name, form.Golden)
			return
		}
		a.table.Refuses[change.Name] = says
		return
	}
	a.tell("%s: no form has what %s breaks, %s", a.name(), change.Name, change.From)
}

func (a *asked) name() string { return a.table.Program + " " + a.table.Version }

func (a *asked) tell(format string, args ...any) {
	a.wrong++
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (a *asked) keep(tables string, write bool) error {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a.table); err != nil {
		return err
	}
	path := filepath.Join(tables, a.table.Program+"-"+a.table.Version+".json")
	if write {
		return os.WriteFile(path, content.Bytes(), 0o600)
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, content.Bytes()) {
		a.tell("%s is not what %s says (%v): test/upstream/programs/check.sh -write makes it anew", path, a.name(), err)
	}
	return nil
}
