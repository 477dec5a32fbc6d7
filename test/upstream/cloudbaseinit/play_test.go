//go:build cloudbaseinit

package cloudbaseinit

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	onVSphere = "vsphere"
	onAzure   = "azure"

	// imageName is what Windows calls itself before cloudbase-init: as the lab's image does on labUUID.
	imageName = "WIN-420F7A1C5D1"
	labUUID   = "420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11"
)

// machine is what driver.py gets to know of a guest.
type machine struct {
	Name  string `json:"name"`
	Cloud string `json:"cloud"`
	// ComputerName is that of Windows before the first boot.
	ComputerName string `json:"computerName"`
	// Guestinfo is all there is on vSphere.
	Guestinfo map[string]string `json:"guestinfo,omitempty"`
	// Later is what there is at the last boot; nothing means that it is the same.
	Later map[string]string `json:"later,omitempty"`
	// On Azure: ovf-env.xml and the host agent know the names, CustomData.bin may be missing.
	HostName   string `json:"hostName,omitempty"`
	InstanceID string `json:"instanceId,omitempty"`
	CustomData []byte `json:"customData"`
	// CutOff is how many programs do not end, because Windows restarts meanwhile.
	CutOff int `json:"cutOff"`
	// ExitCode and Stdout of every program but rpctool.exe.
	ExitCode int    `json:"exitCode"`
	Stdout   string `json:"stdout"`
	// Config is more of cloudbase-init.conf.
	Config string `json:"config,omitempty"`
}

// outcome is what the real cloudbase-init did. The last boot is one that nothing asked for.
type outcome struct {
	Name  string `json:"name"`
	Boots []boot `json:"boots"`
	// Registry has values by key and name.
	Registry map[string]map[string]any `json:"registry"`
}

type boot struct {
	Log       string    `json:"log"`
	COM2      string    `json:"com2"`
	Error     string    `json:"error"`
	Health    []string  `json:"health"`
	Processes []process `json:"processes"`
	// Files are those that write_files wrote, by their paths.
	Files    map[string]written `json:"files"`
	Rebooted bool               `json:"rebooted"`
	// Network are the calls that would have changed an adapter, each its name and its arguments.
	Network [][]any `json:"network"`
	// ComputerName as it will be at the next boot.
	ComputerName string `json:"computerName"`
	// Left are the files that are still in the folder for temporary ones.
	Left []string `json:"left"`
}

// process that was started, with the bytes of its last argument if that is a file.
type process struct {
	Args   []string `json:"args"`
	Shell  bool     `json:"shell"`
	Script []byte   `json:"script"`
	// Files were there when it was started.
	Files map[string]written `json:"files"`
	// Heard is what Azure's host agent was told before.
	Heard []string `json:"heard"`
}

// written is a file of write_files.
type written struct {
	Content     []byte `json:"content"`
	Permissions int    `json:"permissions"`
}

// play runs a release on all machines.
func play(t *testing.T, r release, machines []machine, env ...string) []outcome {
	t.Helper()
	input := expect.Got(json.Marshal(machines))(t)
	run := exec.CommandContext(t.Context(), install(t, r), "-I", "-B", "driver.py")
	run.Env = append(os.Environ(), "GUESTS="+t.TempDir(), "TMPDIR="+t.TempDir())
	run.Env = append(run.Env, env...)
	run.Stdin = bytes.NewReader(input)
	var problems strings.Builder
	run.Stderr = &problems
	output, err := run.Output()
	if err != nil {
		t.Fatalf("driver.py: %v\n%s", err, problems.String())
	}
	var outcomes []outcome
	if err := json.Unmarshal(output, &outcomes); err != nil {
		t.Fatalf("driver.py: %v\n%s", err, output)
	}
	if len(outcomes) != len(machines) || !strings.Contains(outcomes[0].Boots[0].Log, "Cloudbase-Init version: "+r.version) {
		t.Fatalf("%d outcomes for %d machines, of another version than %s?", len(outcomes), len(machines), r.version)
	}
	return outcomes
}

// said is all that a guest wrote where people can read it.
func (o outcome) said() string {
	var all strings.Builder
	for _, b := range o.Boots {
		all.WriteString(b.Log + b.COM2 + strings.Join(b.Health, "\n"))
	}
	return all.String()
}

// processes of all boots.
func (o outcome) processes() []process {
	var all []process
	for _, b := range o.Boots {
		all = append(all, b.Processes...)
	}
	return all
}

func (o outcome) last() boot { return o.Boots[len(o.Boots)-1] }
