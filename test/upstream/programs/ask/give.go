package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/upstream/programs"
)

// give hands a form to the program, and returns an error and what the program said if it refuses it. It may be broken; the world
// around the program is that of the form as it was.
func (a *asked) give(form, was programs.Form) (string, error) {
	work, err := os.MkdirTemp("", "programs")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	file := filepath.Join(work, "given")
	if err := os.WriteFile(file, []byte(form.Text), 0o600); err != nil {
		return "", err
	}
	var says string
	switch a.table.Program {
	case "kube-proxy":
		says, err = a.kubeProxy(form, file)
	case "flanneld":
		says, err = a.flanneld(form, file)
	case "flannel":
		if _, err = programs.Delegate(form.Text, "10.244.3.0/24", "10.244.0.0/16"); err != nil {
			says = err.Error()
		}
	default:
		says, err = a.plugin(form, was, work)
	}
	return said(strings.ReplaceAll(strings.ReplaceAll(says, work, ""), a.folder, "")), err
}

// kubeProxy completes and validates what it is given, and writes it down instead of running.
func (a *asked) kubeProxy(form programs.Form, file string) (string, error) {
	args := withFile(form.Args, "--config=", file)
	says, err := a.run("kube-proxy", nil, nil, append(args, "--write-config-to="+file+".out")...)
	if err == nil && strings.Contains(says, "lenient decoding") {
		return says, errors.New("it drops a field")
	}
	return says, err
}

// flanneld parses its flags and, with --version, says which it is. At a flag that it does not know it shows its usage and ends
// as if all were well. netconf asks its backends for the file.
func (a *asked) flanneld(form programs.Form, file string) (string, error) {
	says, err := a.run("flanneld", nil, nil, append(slices.Clip(form.Args), "--version")...)
	if err != nil || strings.TrimSpace(says) != a.table.Version {
		first, _, _ := strings.Cut(says, "\n")
		return first, errors.Join(err, errors.New("it does not know a flag"))
	}
	return a.run("netconf", nil, []string{"HNS_LOG=" + file + ".hns"}, file)
}

// plugin adds a pod's network. HNS is a stand-in with the network that the configuration wants.
func (a *asked) plugin(form, was programs.Form, work string) (string, error) {
	text := strings.Replace(form.Text, `"ipam":{`, `"ipam":{"dataDir":"`+work+`",`, 1)
	log := filepath.Join(work, "hns")
	says, err := a.run(form.Program, []byte(text), []string{
		"CNI_COMMAND=ADD", "CNI_CONTAINERID=pod", "CNI_IFNAME=eth0", "CNI_PATH=" + a.folder,
		"CNI_NETNS=f0e1d2c3-0000-4000-8000-000000000001", "HNS_LOG=" + log, "HNS_NETWORK=" + networkOf(was),
	})
	if err != nil || form.Program == "host-local" {
		return says, err
	}
	return says, policiesKept(form.Text, log)
}

// networkOf is the network that HNS has: that which the configuration wants.
func networkOf(form programs.Form) string {
	var conf struct{ Name string }
	_ = json.Unmarshal([]byte(form.Text), &conf) // What is not JSON has no network, and the program says so.
	kind := map[string]string{"win-bridge": "L2Bridge", "win-overlay": "Overlay"}[form.Program]
	return `{"Id":"1","Name":"` + conf.Name + `","Type":"` + kind + `","Ipams":[{"Type":"Static","Subnets":[{` +
		`"IpAddressPrefix":"10.244.3.0/24","Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`
}

// policiesKept compares policies: the program drops those that it can not decode, and says nothing.
func policiesKept(text, log string) error {
	var conf struct {
		Policies []struct{ Value json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &conf); err != nil {
		return err
	}
	made, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	for _, policy := range conf.Policies {
		var typed struct{ Type string }
		if err := json.Unmarshal(policy.Value, &typed); err != nil {
			return err
		}
		if !bytes.Contains(made, []byte(`{"Type":"`+typed.Type+`","Settings":{`)) {
			return fmt.Errorf("the endpoint has no policy %s", typed.Type)
		}
	}
	return nil
}

func withFile(args []string, flag, file string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if out[i] = arg; strings.HasPrefix(arg, flag) {
			out[i] = flag + file
		}
	}
	return out
}

func (a *asked) run(program string, in []byte, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(a.folder, program), args...)
	command.Stdin, command.Env = bytes.NewReader(in), env
	out, err := command.CombinedOutput()
	return string(out), err
}

// moment is what differs from run to run: the head of a line of the log, and addresses in memory.
var moment = regexp.MustCompile(`(?m)^[IWE]\d{4} \S+ +\d+ \S+\] |0x[0-9a-f]+`)

// said is the last line of it that says something, without what differs from run to run.
func said(text string) string {
	text = moment.ReplaceAllString(text, "")
	var plugin struct{ Msg, Details string }
	if at := strings.Index(text, "{\n"); at >= 0 && json.Unmarshal([]byte(text[at:]), &plugin) == nil {
		return strings.TrimSpace(plugin.Msg + " " + plugin.Details)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
