package fake

import (
	"fmt"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
)

func TestContract(t *testing.T) {
	cloudtest.Run(t, func(*testing.T) cloudtest.Harness {
		w := &World{}
		return cloudtest.Harness{
			Provider:         Provider{w},
			Credentials:      map[string][]byte{"clientSecret": []byte("secret")},
			WrongCredentials: map[string][]byte{"clientSecret": []byte("wrong")},
			DeadCredentials:  map[string][]byte{"clientSecret": []byte("secret"), "server": []byte(Nowhere)},
			AnotherServer: func() map[string][]byte {
				return map[string][]byte{"clientSecret": []byte("secret"), "server": []byte("second")}
			},
			Spec:       infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{Image: infrav1.AzureImage{ID: Image}}},
			Misspell:   func(s *infrav1.WindowsMachineSpec) { s.Azure.Image.ID += "x" },
			Hold:       func() func() { return w.Hold(Create) },
			LoseAnswer: w.LoseAnswer,
			Cut:        w.Cut,
			Sessions:   w.Sessions,
			VMs:        w.Names,
			Inspect: func(name string) string {
				vm, _ := w.Get(name)
				return fmt.Sprintf("%+v", vm)
			},
			Occupy: func(name string) { w.Put(VM{Name: name, ID: "somebody else's", On: true}) },
			Unmark: func(name string) {
				w.Update(name, func(vm *VM) { vm.Owner, vm.ProviderID = cloud.Key{}, "" })
			},
			Replace: func(name string) {
				vm, _ := w.Get(name)
				w.Put(vm) // which gets another ID
			},
			Displace: func(name string) {
				w.Update(name, func(vm *VM) { vm.Owner, vm.ProviderID = cloud.Key{}, "" })
			},
			Return: func(string) {},
			Copy: func(name, as string) {
				vm, _ := w.Get(name)
				vm.Name, vm.ID = as, "of "+as
				w.Put(vm)
			},
			PowerOff:      func(name string) { w.Update(name, func(vm *VM) { vm.On = false }) },
			Remove:        w.Drop,
			Address:       func(name, value string) { w.Update(name, func(vm *VM) { vm.Address = value }) },
			WriteUserData: func(name, value string) { w.Update(name, func(vm *VM) { vm.UserData = []byte(value) }) },
			Erasures:      w.Erasures,
			Report:        func(name, value string) { w.Update(name, func(vm *VM) { vm.Report = value }) },
			UserData: func(name string) []byte {
				vm, _ := w.Get(name)
				return vm.UserData
			},
			ComputerName: func(name string) string { return name },
		}
	})
}
