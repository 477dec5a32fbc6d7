package azure

import (
	"context"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
)

// TestInspectImages: what the check says of an image is what Azure says to a VM of it.
func TestInspectImages(t *testing.T) {
	const ok, failed = cloud.CheckOK, cloud.CheckFailed
	byID := func(id string) infrav1.AzureImage { return infrav1.AzureImage{ID: id} }
	ofGallery := func(version string) infrav1.AzureImage {
		return infrav1.AzureImage{ComputeGallery: infrav1.AzureGalleryImage{
			ResourceGroup: armsim.NetworkGroup, Gallery: "capwin", Name: "windows-2022", Version: version,
		}}
	}
	market := func(of, version string, plan infrav1.AzureImagePlan) infrav1.AzureImage {
		parts := strings.Split(of, "/")
		return infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{
			Publisher: parts[0], Offer: parts[1], SKU: parts[2], Version: version, Plan: plan,
		}}
	}
	community := func(version string) infrav1.AzureImage {
		return infrav1.AzureImage{CommunityGallery: infrav1.AzureCommunityImage{
			Gallery: "ClusterAPI-f72ceb4f", Name: "capi-win-2022-containerd", Version: version,
		}}
	}
	const planned, none = infrav1.AzureImagePlanImage, infrav1.AzureImagePlan("")
	other := strings.Replace(armsim.ManagedImage, "windows-2022", "other", 1)
	add := func(i compute.Image) func(*stage, *infrav1.AzureVM) {
		return func(s *stage, _ *infrav1.AzureVM) { s.Change(func(in *armsim.Inside) { in.Compute.AddImage(i) }) }
	}
	size := func(name string) func(*stage, *infrav1.AzureVM) {
		return func(_ *stage, vm *infrav1.AzureVM) { vm.VMSize = name }
	}
	elsewhere := strings.Replace(armsim.GalleryImage, "windows-2022", "elsewhere", 1)
	for name, c := range map[string]struct {
		image  infrav1.AzureImage
		change func(*stage, *infrav1.AzureVM)
		result cloud.Result
		says   string
	}{
		"gallery, by ID":          {byID(armsim.GalleryImage), nil, ok, "windows-2022 1.36.3 exists and is of generation V2"},
		"gallery":                 {ofGallery("1.36.2"), nil, ok, "windows-2022 1.36.2 exists"},
		"gallery, the latest":     {ofGallery(""), nil, ok, "windows-2022 1.36.3 exists"},
		"gallery, no version":     {ofGallery("1.0.0"), nil, failed, "windows-2022 1.0.0 does not exist"},
		"gallery, no image":       {byID(armsim.GalleryImage + "x"), nil, failed, "correct spec.azure.image"},
		"managed":                 {byID(armsim.ManagedImage), nil, ok, "windows-2022 exists and is of generation V2"},
		"managed, none":           {byID(other), nil, failed, "other does not exist"},
		"community":               {community("1.36.2"), nil, ok, "capi-win-2022-containerd 1.36.2 exists"},
		"community, the latest":   {community(""), nil, ok, "capi-win-2022-containerd 1.36.3 exists"},
		"community, no version":   {community("9.9.9"), nil, failed, "does not exist"},
		"marketplace":             {market(armsim.MarketplaceImage, "", none), nil, ok, "20348.4171.251003 exists"},
		"marketplace, no version": {market(armsim.MarketplaceImage, "1.1.1", none), nil, failed, "does not exist"},
		"marketplace, no SKU":     {market("a/b/c", "", none), nil, failed, "a:b:c latest does not exist"},
		"a plan":                  {market(armsim.PlanImage, "", planned), nil, ok, "136.3.20261001 exists"},
		"a plan is missing":       {market(armsim.PlanImage, "", none), nil, failed, "set plan: Image"},
		"a plan too much":         {market(armsim.MarketplaceImage, "", planned), nil, failed, "remove plan"},
		"an old size":             {byID(armsim.GalleryImage), size("Standard_A1_v2"), failed, "Standard_A1_v2 cannot start"},
		"an old image": {
			byID(other), func(s *stage, vm *infrav1.AzureVM) {
				add(compute.Image{Name: other, SizeGB: 40, Generation: "V1"})(s, vm)
				vm.SecurityProfile.SecurityType = infrav1.AzureTrustedLaunch
			}, failed, "securityType is not possible",
		},
		"another region": {
			byID(elsewhere),
			add(compute.Image{Name: elsewhere, Versions: []string{"1.0.0"}, SizeGB: 40, Regions: []string{"eastus"}}),
			failed, "is not in westeurope: replicate it",
		},
		"Linux": {
			byID(other), add(compute.Image{Name: other, SizeGB: 40, Linux: true}), failed, "not an image of Windows",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			spec := m.Spec.Azure
			spec.Image = c.image
			if c.change != nil {
				c.change(s, spec)
			}
			found := expect.Got(Provider{login: s.login}.Inspect(t.Context(), s.credentials(), Pool{Spec: spec}))(t)
			got := finding(found, "image")
			if got.Result != c.result || !strings.Contains(got.Text, c.says) {
				t.Errorf("found %+v, want %s %q", got, c.result, c.says)
			}
			if strings.Contains(name, "Linux") || strings.Contains(name, "an old image") {
				return // Azure itself says so only once the VM has started, or in a way that the simulator does not play
			}
			if made := s.made(m); made != (c.result == ok) {
				t.Errorf("Azure makes a VM: %v", made)
			}
		})
	}
}

// made says whether Azure takes a VM of a machine.
func (s *stage) made(m cloud.Machine) bool {
	s.t.Helper()
	a := s.account()
	want := request.Want{Machine: m, Placement: expect.Got(placementOf(m))(s.t), Choice: request.Choice{Size: m.Spec.Azure.VMSize}}
	return a.calls.CreateVM(s.t.Context(), homeOf(m), func(ctx context.Context) (any, error) { return body(ctx, want) }).Err() == nil
}

func finding(found []cloud.Finding, check string) cloud.Finding {
	for _, f := range found {
		if f.Check == check {
			return f
		}
	}
	return cloud.Finding{}
}

// TestInspectQuota: what the check says of a quota is what Azure says to a VM.
func TestInspectQuota(t *testing.T) {
	const family = "standardDSv5Family"
	cores := func(n int) func(*stage, *infrav1.AzureVM) {
		return func(s *stage, _ *infrav1.AzureVM) {
			s.Change(func(in *armsim.Inside) { in.Compute.Faults.Cores = map[string]int{family: n} })
		}
	}
	spot := func(n int) func(*stage, *infrav1.AzureVM) {
		return func(s *stage, vm *infrav1.AzureVM) {
			vm.Priority = infrav1.AzurePrioritySpot
			s.Change(func(in *armsim.Inside) { in.Compute.Faults.SpotCores = &n })
		}
	}
	const check = "quota for Standard_D4s_v5"
	for name, c := range map[string]struct {
		change func(*stage, *infrav1.AzureVM)
		check  string
		result cloud.Result
		says   string
	}{
		"room": {
			cores(11), check, cloud.CheckOK, "0 of 11 cores of " + family + " are used, and a VM needs 4: there is room for 2",
		},
		"room enough": {cores(4), check, cloud.CheckOK, "room for 1"},
		"no room":     {cores(3), check, cloud.CheckFailed, "0 of 3 cores of " + family + " are used, and a VM needs 4: ask for"},
		"no room, but elsewhere": {func(s *stage, vm *infrav1.AzureVM) {
			cores(3)(s, vm)
			vm.FallbackVMSizes = []string{"Standard_D4as_v5"}
		}, check, cloud.CheckWarning, "a VM needs 4"},
		"room for spot":    {spot(8), check, cloud.CheckOK, "0 of 8 cores of lowPriorityCores are used"},
		"no room for spot": {spot(3), check, cloud.CheckFailed, "0 of 3 cores of lowPriorityCores"},
		"not shown": {
			without("Microsoft.Compute/locations/usages/read"), "quota", cloud.CheckWarning,
			"cannot be checked: Azure refuses the action Microsoft.Compute/locations/usages/read",
		},
		"not registered": {func(s *stage, _ *infrav1.AzureVM) {
			s.Change(func(in *armsim.Inside) { in.Faults.Unregistered = []string{"Microsoft.Network"} })
		}, "provider Microsoft.Network", cloud.CheckFailed, "run az provider register --namespace Microsoft.Network"},
		"registered": {cores(4), "provider Microsoft.Compute", cloud.CheckOK, "is registered"},
		"providers are not shown": {
			without("Microsoft.Resources/subscriptions/providers/read"), "provider Microsoft.Compute", cloud.CheckWarning,
			"cannot be checked: Azure refuses the action Microsoft.Resources/subscriptions/providers/read",
		},
		"the subscription is shown": {cores(4), "subscription", cloud.CheckOK, "is visible"},
		"sizes are not shown": {
			without("Microsoft.Compute/skus/read"), "size Standard_D4s_v5", cloud.CheckWarning, "cannot be checked: Azure refuses",
		},
		"VMs of the group are not shown": {
			without("Microsoft.Compute/virtualMachines/read"), "resource group", cloud.CheckWarning, "cannot be checked: Azure refuses",
		},
		"the versions of the image are not answered": {func(s *stage, vm *infrav1.AzureVM) {
			vm.Image.ID = armsim.GalleryImage
			s.refuseOnce(" versions", storms["503"])
		}, "image", cloud.CheckWarning, "cannot be checked"},
		"the image is not shown": {
			without("Microsoft.Compute/galleries/images/read"), "image", cloud.CheckWarning,
			"cannot be checked: Azure refuses the action Microsoft.Compute/galleries/images/read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			c.change(s, m.Spec.Azure)
			all := expect.Got(Provider{login: s.login}.Inspect(t.Context(), s.credentials(), Pool{Spec: m.Spec.Azure}))(t)
			got := finding(all, c.check)
			if got.Result != c.result || !strings.Contains(got.Text, c.says) {
				t.Errorf("found %+v, want %s %q", got, c.result, c.says)
			}
			if strings.HasPrefix(name, "room") || strings.HasPrefix(name, "no room") {
				expect.Same(t, "Azure makes a VM", c.result == cloud.CheckOK, s.made(m))
			}
		})
	}
}

// refuseOnce refuses the first call of a class that ends so.
func (s *stage) refuseOnce(class string, with armsim.Refusal) {
	done := false
	s.Change(func(in *armsim.Inside) {
		in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
			if done || !strings.HasSuffix(call.Class, class) {
				return nil
			}
			done = true
			return &with
		}
	})
}
