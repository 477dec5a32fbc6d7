package vsphere

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// vcenter is govmomi's simulator behind a TLS server that counts calls and can lose answers.
type vcenter struct {
	t        *testing.T
	model    *simulator.Model
	server   *httptest.Server
	admin    *vim25.Client // in this process: it has no session and is not counted
	template *gatedTemplate
	folder   *object.Folder

	mu    sync.Mutex
	calls map[string]int
	lose  int
	drop  bool
}

const (
	testUser     = "capwin@vsphere.local"
	testPassword = "a pass/word & more"
)

// newVCenter has a template in a cluster and, unless the model is changed, a host that is in none.
func newVCenter(t *testing.T, change ...func(*simulator.Model)) *vcenter {
	t.Helper()
	v := &vcenter{t: t, model: simulator.VPX(), calls: map[string]int{}}
	v.model.Machine = 1
	v.model.Autostart = false
	for _, c := range change {
		c(v.model)
	}
	v.must(v.model.Create())
	t.Cleanup(v.model.Remove)
	// Logins are refused only by a service that has users.
	v.model.Service.Listen = &url.URL{User: url.UserPassword(testUser, testPassword)}
	behind := v.model.Service.NewServer()
	t.Cleanup(behind.Close)

	v.server = httptest.NewUnstartedServer(http.HandlerFunc(v.serve))
	v.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	v.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	v.server.StartTLS()
	t.Cleanup(func() {
		v.server.CloseClientConnections()
		v.server.Close()
	})

	var err error
	v.admin, err = vim25.NewClient(t.Context(), v.model.Service)
	v.must(err)
	v.prepare()
	return v
}

// prepare makes a template with a gate and a folder for the VMs.
func (v *vcenter) prepare() {
	ctx := v.t.Context()
	finder := find.NewFinder(v.admin)
	vm, err := finder.VirtualMachine(ctx, "/DC0/vm/DC0_C0_RP0_VM0")
	v.must(err)
	v.must(vm.MarkAsTemplate(ctx))
	rename, err := vm.Rename(ctx, "windows-2022")
	v.must(err)
	v.must(rename.Wait(ctx))
	root, err := finder.Folder(ctx, "/DC0/vm")
	v.must(err)
	v.folder, err = root.CreateFolder(ctx, "capwin")
	v.must(err)
	plain, _ := v.model.Map().Get(vm.Reference()).(*simulator.VirtualMachine)
	v.template = &gatedTemplate{VirtualMachine: plain}
	if oneAtATime {
		v.template.busy = new(sync.RWMutex)
	}
	v.model.Map().Put(v.template)
}

func (v *vcenter) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// spec that the vCenter can carry out.
func (v *vcenter) spec() infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{
		CredentialsRef: infrav1.SecretReference{Name: "vcenter"},
		Datacenter:     "DC0",
		Template:       "windows-2022",
		Folder:         "capwin",
		ResourcePool:   "/DC0/host/DC0_C0/Resources",
		CPUs:           4,
		MemoryMiB:      8192,
	}}
}

func (v *vcenter) credentials() map[string][]byte {
	return map[string][]byte{
		"server":   []byte(v.server.Listener.Addr().String()),
		"username": []byte(testUser),
		"password": []byte(testPassword),
		"ca.crt":   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.server.Certificate().Raw}),
	}
}

func with(credentials map[string][]byte, key, value string) map[string][]byte {
	credentials[key] = []byte(value)
	return credentials
}

var method = regexp.MustCompile(`<(?:\w+:)?Body[^>]*><(?:\w+:)?(\w+)`)

func (v *vcenter) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	name := ""
	if found := method.FindSubmatch(body); found != nil {
		name = string(found[1])
	}
	v.mu.Lock()
	v.calls[name]++
	lose := name == "CloneVM_Task" && v.lose > 0
	if lose {
		v.lose--
	}
	drop := name == "CloneVM_Task" && v.drop
	v.mu.Unlock()
	if drop {
		panic(http.ErrAbortHandler)
	}
	if busy := v.template.busy; busy != nil && (name == "RetrieveProperties" || name == "FindByUuid") {
		busy.RLock()
		defer busy.RUnlock()
	}
	if lose {
		v.model.Service.ServeSDK(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	v.model.Service.ServeSDK(w, r)
}

// count returns the calls since the last time, without the one that waits for changes.
func (v *vcenter) count() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	calls := v.calls
	v.calls = map[string]int{}
	delete(calls, "WaitForUpdatesEx")
	return calls
}

func (v *vcenter) loseAnswer() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lose++
}

// dropClone breaks the connections over which clones are asked for, before they are.
func (v *vcenter) dropClone() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop = true
}

func (v *vcenter) vms() []string {
	var names []string
	children, err := v.folder.Children(context.Background())
	v.must(err)
	for _, c := range children {
		name, err := object.NewCommon(v.admin, c.Reference()).ObjectName(context.Background())
		v.must(err)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (v *vcenter) vm(name string) *object.VirtualMachine {
	v.t.Helper()
	ref, err := object.NewSearchIndex(v.admin).FindChild(context.Background(), v.folder, name)
	v.must(err)
	if ref == nil {
		v.t.Fatalf("there is no VM %s", name)
	}
	return object.NewVirtualMachine(v.admin, ref.Reference())
}

// inspect returns all properties but the list of tasks.
func (v *vcenter) inspect(name string) string {
	var vm mo.VirtualMachine
	v.must(property.DefaultCollector(v.admin).RetrieveOne(context.Background(), v.vm(name).Reference(), nil, &vm))
	vm.RecentTask = nil
	text, err := json.MarshalIndent(vm, "", " ")
	v.must(err)
	return string(text)
}

func (v *vcenter) occupy(name string) {
	ctx := v.t.Context()
	pool, err := find.NewFinder(v.admin).ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	v.must(err)
	at := pool.Reference()
	task, err := object.NewVirtualMachine(v.admin, v.template.Self).Clone(ctx, v.folder, name,
		types.VirtualMachineCloneSpec{PowerOn: true, Location: types.VirtualMachineRelocateSpec{Pool: &at}})
	v.must(err)
	v.must(task.Wait(ctx))
}

func (v *vcenter) powerOff(name string) {
	task, err := v.vm(name).PowerOff(context.Background())
	v.must(err)
	v.must(task.Wait(context.Background()))
}

func (v *vcenter) remove(name string) {
	if state, err := v.vm(name).PowerState(context.Background()); err == nil && state == types.VirtualMachinePowerStatePoweredOn {
		v.powerOff(name)
	}
	task, err := v.vm(name).Destroy(context.Background())
	v.must(err)
	v.must(task.Wait(context.Background()))
}

func (v *vcenter) setExtra(name, key, value string) {
	task, err := v.vm(name).Reconfigure(context.Background(), types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}},
	})
	v.must(err)
	v.must(task.Wait(context.Background()))
}

// guestinfo reads a value as cloudbase-init does.
func (v *vcenter) guestinfo(name, key string) []byte {
	var vm mo.VirtualMachine
	v.must(property.DefaultCollector(v.admin).RetrieveOne(context.Background(), v.vm(name).Reference(), []string{"config.extraConfig"}, &vm))
	values := object.OptionValueList(vm.Config.ExtraConfig)
	text, _ := values.GetString("guestinfo." + key)
	encoding, _ := values.GetString("guestinfo." + key + ".encoding")
	plain, err := base64.StdEncoding.DecodeString(text)
	v.must(err)
	if encoding == "base64" {
		return plain
	}
	r, err := gzip.NewReader(bytes.NewReader(plain))
	v.must(err)
	plain, err = io.ReadAll(r)
	v.must(err)
	return plain
}

func (v *vcenter) sessions() int {
	var m mo.SessionManager
	v.must(property.DefaultCollector(v.admin).RetrieveOne(context.Background(), *v.admin.ServiceContent.SessionManager, []string{"sessionList"}, &m))
	return len(m.SessionList)
}

// account connects to the vCenter.
func (v *vcenter) account() *account {
	v.t.Helper()
	c, err := Provider{}.Connect(v.credentials())
	v.must(err)
	a, _ := c.(*account)
	v.t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

func (v *vcenter) machine(name string) cloud.Machine {
	v.t.Helper()
	return machineOf(v.t, name, v.spec())
}

// sum of the calls of some methods, or of all.
func sum(calls map[string]int, names ...string) int {
	n := 0
	for name, times := range calls {
		if len(names) == 0 || slices.Contains(names, name) {
			n += times
		}
	}
	return cmp.Or(n, 0)
}
