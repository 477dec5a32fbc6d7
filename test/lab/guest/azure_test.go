package guest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// azureVM is a host of Azure in memory.
type azureVM struct {
	*MemoryVM
	environment, customData []byte

	mu     sync.Mutex
	health []string
	serial string
}

const azureInstance = "420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11._w1"

func newAzureVM(customData []byte) *azureVM {
	v := &azureVM{MemoryVM: NewMemoryVM("not asked for", "another", nil), customData: customData}
	data := ""
	if customData != nil {
		data = "<CustomData>" + base64.StdEncoding.EncodeToString(customData) + "</CustomData>"
	}
	v.environment = fmt.Appendf(nil, `<Environment xmlns="http://schemas.dmtf.org/ovf/environment/1" `+
		`xmlns:wa="http://schemas.microsoft.com/windowsazure"><wa:ProvisioningSection><WindowsProvisioningConfigurationSet `+
		`xmlns="http://schemas.microsoft.com/windowsazure"><ComputerName>w1</ComputerName>%s</WindowsProvisioningConfigurationSet>`+
		`</wa:ProvisioningSection></Environment>`, data)
	return v
}

func (v *azureVM) Drive() (environment, customData []byte) { return v.environment, v.customData }
func (*azureVM) Instance() string                          { return azureInstance }

func (v *azureVM) Health(ready bool, description string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.health = append(v.health, strings.TrimSpace(fmt.Sprintln(ready, description)))
}

func (v *azureVM) Serial(text []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.serial += string(text)
}

// heard is what the host was told so far.
func (v *azureVM) heard() (health, serial string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.health, ", "), v.serial
}

// azurePlan is the small plan with the channels of Azure, and with one step.
func azurePlan(step string) []byte {
	head, _, _ := strings.Cut(smallPlan, `"waitSeconds"`)
	return scripts.UserData([]byte(head + `"waitSeconds":60,"report":[` +
		`{"do":"console","port":"COM1"},{"do":"console","port":"COM2"},` +
		`{"do":"azure","url":"http://168.63.129.16"}],"phases":[{"name":"main","steps":[` + step + `]}]}`))
}

// TestAzureBoot has a guest carry out what is on its drive. Its host hears the first serial port, and that the guest is ready or
// why it is not.
func TestAzureBoot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ step, health, serial string }{
		"ready": {`{"do":"file","name":"hello","path":"C:\\hello.txt","text":"hello"}`, "true", "state=Succeeded"},
		"failing": {
			`{"do":"run","name":"r","argv":["C:\\k\\flannel.exe"]}`, "false RunFailed: ", "state=Failed reason=RunFailed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm, guest := newAzureVM(azurePlan(c.step)), &Simulated{Dir: t.TempDir()}
			off := powerOn(t, guest, vm)
			wait.Until(t, c.serial, func() (any, bool) {
				health, serial := vm.heard()
				log, _ := os.ReadFile(filepath.Join(guest.Dir, "C", filepath.FromSlash(initLog)))
				return health + "\n" + serial + "\n" + string(log), strings.HasPrefix(health, c.health) && strings.Contains(serial, c.serial)
			})
			off()
			said := diskFile(t, guest, initLog)
			if strings.Count(said, "Setting hostname: w1") != 1 || strings.Contains(said, "VMwareGuestInfoService") {
				t.Errorf("cloudbase-init says\n%s", said)
			}
			_, serial := vm.heard()
			expect.Same(t, "the disk's own copy", diskFile(t, guest, `serial/COM1.log`), serial)
			expect.Same(t, "a port that no host hears", serial, diskFile(t, guest, `serial/COM2.log`))
		})
	}
}

// TestAzureSilence: a guest without its drive, or with half of it, says nothing, and the host never hears of it. One whose data
// are packed, as only other services unpack them, says that it failed.
func TestAzureSilence(t *testing.T) {
	t.Parallel()
	good := azurePlan(`{"do":"file","name":"hello","path":"C:\\hello.txt","text":"hello"}`)
	for name, c := range map[string]struct {
		change       func(v *azureVM)
		says, health string
	}{
		"no drive":    {func(v *azureVM) { v.environment = nil }, "no drive containing file", ""},
		"broken file": {func(v *azureVM) { v.environment = []byte("<Environment>") }, "No metadata service found", ""},
		"no data":     {func(v *azureVM) { v.customData = nil }, "the custom data file is not present", ""},
		"packed data": {
			func(v *azureVM) { v.customData = scripts.Gzip(good) }, "plugin 'UserDataPlugin' failed", "false Provisioning failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm, guest := newAzureVM(good), &Simulated{Dir: t.TempDir()}
			c.change(vm)
			off := powerOn(t, guest, vm)
			log := filepath.Join(guest.Dir, "C", filepath.FromSlash(initLog))
			wait.Until(t, c.says, func() (any, bool) {
				text, err := os.ReadFile(log)
				health, _ := vm.heard()
				return string(text), err == nil && strings.Contains(string(text), c.says) &&
					strings.Contains(string(text), "Plugins execution done") && health == c.health
			})
			off()
			if _, serial := vm.heard(); serial != "" || strings.Contains(effects(t, guest), "task.enable") {
				t.Errorf("the task was started: %q", serial)
			}
		})
	}
}

// otherNetwork is all that is not the host.
type otherNetwork struct{ wireServer }

func (otherNetwork) Web(context.Context, string, string, []byte) ([]byte, error) {
	return nil, errOther
}

var errOther = errors.New("another network")

// TestWireServer speaks with the host as programs in the guest do.
func TestWireServer(t *testing.T) {
	t.Parallel()
	const goal, health = wireServerAddress + "machine?comp=goalstate", wireServerAddress + "machine?comp=health"
	word := func(instance, state, details string) string {
		return `<?xml version="1.0"?>` + `<Health><Container><ContainerId>` + instance +
			`</ContainerId><RoleInstanceList><Role><InstanceId>` +
			instance + `</InstanceId><Health><State>` + state + `</State>` + details + `</Health></Role></RoleInstanceList>` +
			`</Container></Health>`
	}
	failed := func(status string) string {
		return "<Details><SubStatus>" + status + "</SubStatus><Description>a &lt; b</Description></Details>"
	}
	for name, c := range map[string]struct{ method, url, body, answer, problem, heard string }{
		"goal state": {http.MethodGet, goal, "", "<InstanceId>" + azureInstance + "</InstanceId>", "", ""},
		"ready":      {http.MethodPost, health, word(azureInstance, "Ready", ""), "", "", "true"},
		"failed": {
			http.MethodPost, health, word(azureInstance, "NotReady", failed("ProvisioningFailed")), "", "", "false a < b",
		},
		"still at work":        {http.MethodPost, health, word(azureInstance, "NotReady", failed("Provisioning")), "", "", ""},
		"of another VM":        {http.MethodPost, health, word("another", "Ready", ""), "", "410 Gone", ""},
		"not XML":              {http.MethodPost, health, "{", "", "EOF", ""},
		"another page":         {http.MethodGet, wireServerAddress + "machine", "", "", "400 Bad Request", ""},
		"a goal that is given": {http.MethodPost, goal, "", "", "400 Bad Request", ""},
		"another host":         {http.MethodGet, "http://168.63.129.17/machine?comp=goalstate", "", "", errOther.Error(), ""},
	} {
		vm := newAzureVM(nil)
		answer, err := wireServer{Network: otherNetwork{}, host: vm}.Web(t.Context(), c.method, c.url, []byte(c.body))
		expect.Says(t, name, err, c.problem)
		if heard, _ := vm.heard(); heard != c.heard || !strings.Contains(string(answer), c.answer) {
			t.Errorf("%s: the answer is %q, the host heard %q", name, answer, heard)
		}
	}
}
