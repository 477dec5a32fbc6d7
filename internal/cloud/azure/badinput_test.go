package azure

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// foreign makes a VM of this name, with the tags of a machine or without any.
func (s *stage) foreign(name string, tags map[string]string) {
	s.t.Helper()
	c := expect.Got(calls.New(expect.Got(s.login(s.credentials()))(s.t), s.Now))(s.t)
	defer c.Close()
	m := s.machine("foreign")
	where := expect.Got(placementOf(m))(s.t)
	answer := c.CreateVM(s.t.Context(), homeOf(m).Parent().VM(name), func(ctx context.Context) (any, error) {
		m.Name = name
		return body(ctx, request.Want{Machine: m, Placement: where, Choice: request.Choice{Size: m.Spec.Azure.VMSize}})
	})
	if answer.Verdict != nil {
		s.t.Fatal(answer.Err())
	}
	s.Advance(10 * time.Minute)
	s.Change(func(in *armsim.Inside) {
		r := in.World.Find(armsim.VMID(name))
		all := doc.Object{}
		for name, value := range tags {
			all[name] = value
		}
		r.Body["tags"] = all
		in.World.Touch(r)
	})
}

func thirdParty(plan infrav1.AzureImagePlan) func(*stage, *cloud.Machine) {
	return func(_ *stage, m *cloud.Machine) {
		image := marketplace
		if plan == "" {
			image = infrav1.AzureMarketplaceImage{Publisher: "cncf-upstream", Offer: "capi-windows", SKU: "windows-2022-containerd"}
		}
		image.Plan = plan
		m.Spec.Azure.Image = infrav1.AzureImage{Marketplace: image}
	}
}

func lacking(action string) func(*stage, *cloud.Machine) {
	return func(s *stage, _ *cloud.Machine) {
		s.Change(func(in *armsim.Inside) {
			in.Rights.Revoke(armsim.ObjectID)
			for _, all := range []string{
				"Microsoft.Compute/skus/*", "Microsoft.Compute/*/read", "Microsoft.Compute/virtualMachines/*", "Microsoft.Compute/disks/*",
				"Microsoft.Network/networkInterfaces/*", "Microsoft.Network/*/join/action",
			} {
				join := strings.HasSuffix(action, "/join/action") && strings.HasSuffix(all, "/join/action")
				if !join && !strings.HasPrefix(action, strings.TrimSuffix(all, "*")) {
					in.Rights.Grant(armsim.ObjectID, "/subscriptions/"+armsim.Subscription, all)
				}
			}
		})
	}
}

// TestBadInput gives each input its reason and its sentence. No VM is made, nothing that is not ours is adopted, changed or
// deleted, and Azure is not asked faster than every 15 seconds, whoever calls every 5.
func TestBadInput(t *testing.T) {
	type change = func(*stage, *cloud.Machine)
	azure := func(do func(*infrav1.AzureVM)) change {
		return func(_ *stage, m *cloud.Machine) { do(m.Spec.Azure) }
	}
	for name, test := range map[string]struct {
		change  change
		version string // of the cloud's compute
		reason  string
		says    string
	}{
		"a stranger's VM of our name": {
			func(s *stage, m *cloud.Machine) { s.foreign(m.Name, nil) }, "", infrav1.NameTakenReason, "remove it, or delete the Machine",
		},
		"a stranger's VM, and preconditions that do nothing": {
			func(s *stage, m *cloud.Machine) { s.foreign(m.Name, nil) }, "2022-08-01", infrav1.NameTakenReason,
			"does not belong to this machine",
		},
		"a VM of our name with the tags of another machine": {
			func(s *stage, m *cloud.Machine) { s.foreign(m.Name, s.tagsOf(s.machine("another"))) }, "", infrav1.NameTakenReason,
			"does not belong to this machine",
		},
		"a group that does not exist": {
			func(s *stage, _ *cloud.Machine) { s.DeleteGroup(armsim.Group) }, "", infrav1.PlacementNotFoundReason,
			"create the resource group",
		},
		"a subnet that does not exist": {
			azure(func(vm *infrav1.AzureVM) { vm.NetworkInterfaces[0].Subnet.ID = armsim.SubnetID + "x" }), "",
			infrav1.PlacementNotFoundReason, "create what is missing",
		},
		"an image that does not exist": {
			azure(func(vm *infrav1.AzureVM) { vm.Image.ID = armsim.GalleryImage + "x" }), "", infrav1.TemplateNotFoundReason,
			"replicate the image",
		},
		"no image": {
			azure(func(vm *infrav1.AzureVM) { vm.Image = infrav1.AzureImage{} }), "", infrav1.SpecInvalidReason,
			"spec.azure.image is not set",
		},
		"a size that does not exist": {
			azure(func(vm *infrav1.AzureVM) { vm.VMSize = "Standard_D4s_v99" }), "", infrav1.SizeNotOfferedReason,
			"Standard_D4s_v99 in westeurope is not offered: correct its name",
		},
		"a size without what is asked": {
			azure(func(vm *infrav1.AzureVM) { vm.DiskController = "NVMe" }), "", infrav1.SizeUnsuitableReason,
			"Standard_D4s_v5 in westeurope does not have the diskController",
		},
		"a zone that does not exist": {
			azure(func(vm *infrav1.AzureVM) { vm.Zones = []string{"9"} }), "", infrav1.SizeNotOfferedReason, "but in 1, 2, 3",
		},
		"a failure domain that does not exist": {
			func(_ *stage, m *cloud.Machine) { m.FailureDomain = "7" }, "", infrav1.SizeNotOfferedReason, "zone 7",
		},
		"an identity that does not exist": {
			azure(func(vm *infrav1.AzureVM) {
				vm.Identities = infrav1.AzureIdentities{
					Type: infrav1.AzureIdentitiesUserAssigned, UserAssigned: []string{armsim.IdentityID + "x"},
				}
			}), "", infrav1.PlacementNotFoundReason, "create the identity",
		},
		"no right to make VMs": {
			lacking("Microsoft.Compute/virtualMachines/write"), "", infrav1.CredentialsRejectedReason,
			"Microsoft.Compute/virtualMachines/write on ",
		},
		"no right to make disks": {
			lacking("Microsoft.Compute/disks/write"), "", infrav1.CredentialsRejectedReason, "Microsoft.Compute/disks/write on ",
		},
		"no right to join the subnet": {
			lacking("Microsoft.Network/virtualNetworks/subnets/join/action"), "", infrav1.CredentialsRejectedReason,
			"Microsoft.Network/virtualNetworks/subnets/join/action on ",
		},
		"spot that is kept with a disk that is not": {
			azure(func(vm *infrav1.AzureVM) {
				vm.VMSize, vm.Priority = "Standard_D4ds_v5", infrav1.AzurePrioritySpot
				vm.Spot.EvictionPolicy = infrav1.AzureEvictionDeallocate
				vm.OSDisk.EphemeralPlacement = infrav1.AzureEphemeralResource
			}), "", infrav1.SpecInvalidReason, "correct the spec",
		},
		"a plan that is missing":  {thirdParty(""), "", infrav1.SpecInvalidReason, "give the image the plan"},
		"a plan that is too much": {thirdParty(infrav1.AzureImagePlanImage), "", infrav1.SpecInvalidReason, "give the image the plan"},
		"a disk below the image": {
			azure(func(vm *infrav1.AzureVM) { vm.OSDisk.SizeGiB = 30 }), "", infrav1.SpecInvalidReason, "use a larger disk",
		},
		"an API of Azure Stack": {func(*stage, *cloud.Machine) {}, "2020-06-01", infrav1.SpecInvalidReason, "2021-03-01 or later"},
		"user data one byte over": {
			func(_ *stage, m *cloud.Machine) { m.UserData = make(cloud.UserData, request.MaxUserData+1).Read }, "",
			infrav1.BootstrapDataRefusedReason, "65536 bytes",
		},
		"an address outside the subnet": {
			azure(func(vm *infrav1.AzureVM) { vm.NetworkInterfaces[0].PrivateAddress = "10.9.5.5" }), "", infrav1.SpecInvalidReason,
			"give a privateAddress of the subnet",
		},
		"an address in use": {
			func(s *stage, m *cloud.Machine) {
				s.strangersAdapter("other")
				m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
			}, "", infrav1.SpecInvalidReason, "remove what has the address",
		},
		"a stranger's adapter of our name": {
			func(s *stage, m *cloud.Machine) {
				s.strangersAdapter(request.AdapterName(*m, 0))
				m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
			}, "", infrav1.NameTakenReason, "already has a network interface named",
		},
		"user data one byte over, and an address": {
			func(_ *stage, m *cloud.Machine) {
				m.UserData = make(cloud.UserData, request.MaxUserData+1).Read
				m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
			}, "", infrav1.BootstrapDataRefusedReason, "65536 bytes",
		},
		"a tag that Azure refuses": {
			azure(func(vm *infrav1.AzureVM) { vm.AdditionalTags = map[string]infrav1.AzureTagValue{"a<b": "x"} }), "",
			infrav1.SpecInvalidReason, "spec.azure.additionalTags",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			test.change(s, &m)
			a := s.watched()
			a.calls.Principal.Cloud.ComputeAPIVersion = test.version
			before := s.things()
			s.Forget()
			got := map[string]*cloud.Error{}
			for range 60 {
				_, err := a.Ensure(t.Context(), m)
				if refused, ok := errors.AsType[*cloud.Error](err); ok && refused.Kind != cloud.Later {
					got[refused.Error()] = refused
				}
				s.live(a, 5*time.Second)
			}
			s.refusedAs(got, test.reason, test.says)
			if n := s.ByClass()["PUT vm"] + s.ByClass()["PUT nic"]; n > 5*60/15+1 {
				t.Errorf("%d requests in 5 minutes", n)
			}
			s.gone(a, m)
			if diff := cmp.Diff(before, s.things()); diff != "" {
				t.Errorf("VMs, disks and adapters (-before +after):\n%s", diff)
			}
			for _, call := range s.Calls() {
				if call.Method == http.MethodDelete && call.Status < http.StatusMultipleChoices {
					t.Errorf("%s %s was deleted", call.Class, call.Resource)
				}
			}
		})
	}
}

func (s *stage) refusedAs(got map[string]*cloud.Error, reason, says string) {
	s.t.Helper()
	for text, err := range got {
		s.t.Logf("%s: %s: %s", err.Kind, err.Reason, text)
		if err.Reason == reason && strings.Contains(text, says) {
			return
		}
	}
	s.t.Errorf("want %s: ... %s, got %v", reason, says, maps.Keys(got))
}

// tagsOf are the marks of a machine's VM.
func (s *stage) tagsOf(m cloud.Machine) map[string]string {
	all := map[string]string{}
	for name, value := range request.VM(request.Want{Machine: m, Placement: expect.Got(placementOf(m))(s.t)}).Tags {
		all[name] = *value
	}
	return all
}

// TestCopiedTagsAreNoMark has the tags of our VM on another one: ours stays ours, and the copy is left alone.
func TestCopiedTagsAreNoMark(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.foreign("copy", s.tagsOf(m))
	s.run(a, m)
	s.gone(a, m)
	s.live(a, 40*time.Minute)
	if names := s.Names(armsim.Group, compute.VM); len(names) != 1 || names[0] != "copy" {
		t.Errorf("VMs are %q", names)
	}
	for _, kind := range []string{compute.Disk, network.NIC} {
		if names := s.Names(armsim.Group, kind); len(names) != 1 {
			t.Errorf("%s are %q, want that of the copy", kind, names)
		}
	}
}
