package guest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
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
	return scripts.UserData([]byte(head + `"waitSeconds":900,"hold":true,"report":[` +
		`{"do":"console","port":"COM1"},{"do":"console","port":"COM2"},` +
		`{"do":"azure","url":"http://168.63.129.16"}],"phases":[{"name":"main","steps":[` + step + `]}]}`))
}

// TestAzureBoot has a guest carry out what is on its drive. Its host hears the first serial port, and that the guest is ready or
// why it is not. Only once the bootstrap has succeeded, or its time is over, may cloudbase-init say that all is ready.
func TestAzureBoot(t *testing.T) {
	t.Parallel()
	const hello = `{"do":"file","name":"hello","path":"C:\\hello.txt","text":"hello"}`
	for name, c := range map[string]struct {
		step, health, serial string
		boots                int
		least                time.Duration
	}{
		"ready":   {hello, "^true$", "state=Succeeded", 1, 0},
		"restart": {`{"do":"reboot","name":"again","if":"always"},` + hello, "^true$", "state=Succeeded", 2, 0},
		"failing": {
			`{"do":"run","name":"a r|n","argv":["C:\\k\\flannel.exe"]}`, `^false capwin1\|uid-1\|main\|a-r-n\|RunFailed\|\d+\|.+, true$`,
			"state=Failed reason=RunFailed", 1, 15 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm, guest := newAzureVM(azurePlan(c.step)), &Simulated{Dir: t.TempDir(), Speed: 200}
			off := powerOn(t, guest, vm)
			wait.Until(t, c.serial, func() (any, bool) {
				health, serial := vm.heard()
				log, _ := os.ReadFile(filepath.Join(guest.Dir, "C", filepath.FromSlash(initLog)))
				return health + "\n" + serial + "\n" + string(log), strings.HasSuffix(health, "true") && strings.Contains(serial, c.serial)
			})
			off()
			said := diskFile(t, guest, initLog)
			if strings.Count(said, "Setting hostname: w1") != 1 || strings.Contains(said, "VMwareGuestInfoService") {
				t.Errorf("cloudbase-init says\n%s", said)
			}
			health, serial := vm.heard()
			if !regexp.MustCompile(c.health).MatchString(health) {
				t.Errorf("the host hears %q", health)
			}
			expect.Same(t, "boots with user data", c.boots, strings.Count(said, "Executing plugin 'UserDataPlugin'"))
			took := between(t, said, "Executing plugin 'UserDataPlugin'", "Plugins execution done")
			t.Logf("cloudbase-init ends %s of the guest's time after it got the user data", took)
			if took < c.least {
				t.Errorf("it ended before the bootstrap's %s were over", c.least)
			}
			expect.Same(t, "the disk's own copy", diskFile(t, guest, `serial/COM1.log`), serial)
			expect.Same(t, "a port that no host hears", serial, diskFile(t, guest, `serial/COM2.log`))
		})
	}
}

// between is the guest's time from the first line with one text to the last one with the other.
func between(t *testing.T, log, first, last string) time.Duration {
	t.Helper()
	stamp := func(at int) time.Time {
		line := log[strings.LastIndex(log[:at], "\n")+1:]
		return expect.Got(time.Parse(time.DateTime, line[:len(time.DateTime)]))(t)
	}
	return stamp(strings.LastIndex(log, last)).Sub(stamp(strings.Index(log, first)))
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
	const health = wireServerAddress + "provisioning/health"
	failed := func(status string) string {
		return `{"state":"NotReady","details":{"subStatus":"` + status + `","description":"a < b"}}`
	}
	for name, c := range map[string]struct{ method, url, body, problem, heard string }{
		"ready":         {http.MethodPost, health, `{"state":"Ready"}`, "", "true"},
		"failed":        {http.MethodPost, health, failed("ProvisioningFailed"), "", "false a < b"},
		"still at work": {http.MethodPost, health, failed("Provisioning"), "", ""},
		"not JSON":      {http.MethodPost, health, "<", "400 Bad Request", ""},
		"another page":  {http.MethodGet, wireServerAddress + "machine", "", "400 Bad Request", ""},
		"only read":     {http.MethodGet, health, "", "400 Bad Request", ""},
		"another host":  {http.MethodPost, "http://168.63.129.17/provisioning/health", "", errOther.Error(), ""},
	} {
		vm := newAzureVM(nil)
		_, err := wireServer{Network: otherNetwork{}, host: vm}.Web(t.Context(), c.method, c.url, []byte(c.body))
		expect.Says(t, name, err, c.problem)
		if heard, _ := vm.heard(); heard != c.heard {
			t.Errorf("%s: the host heard %q", name, heard)
		}
	}
}
