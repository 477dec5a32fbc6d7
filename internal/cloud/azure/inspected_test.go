package azure

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/inspect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// blueInspected is what is found where Azure answers so, by the end of a path; all other answers are empty.
func blueInspected(t *testing.T, spec *infrav1.AzureVM, answers map[string]said) (found []cloud.Finding, paths []string) {
	t.Helper()
	a := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
		paths = append(paths, r.URL.Path)
		for end, answer := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				return answer.status, answer.text
			}
		}
		if r.URL.Path == "/subscriptions" {
			return http.StatusOK, fmt.Sprintf(`{"value":[{"subscriptionId":%q}]}`, blue.Group.Subscription)
		}
		return http.StatusOK, "{}"
	}))
	where := infrav1.AzurePlacement{
		SubscriptionID: blue.Group.Subscription, ResourceGroup: blue.Group.Group, Location: "West Europe",
		SubnetIDs: []string{blue.Group.Subnet("net", "nodes").String()},
	}
	return inspect.Run(t.Context(), inspect.Subject{
		Azure: inspector{a.calls, blue.Group.Subscription}, Pool: Pool{Spec: spec}, Place: where,
		ComputeVersion: a.calls.ComputeVersion(), Caller: func() (string, string) { return "", "" },
	}), paths
}

// TestQuota: what is told of a quota, and of a size without one.
func TestQuota(t *testing.T) {
	const ok, failed, warning = cloud.CheckOK, cloud.CheckFailed, cloud.CheckWarning
	const ours, region = "quota for one", "regional quota for one"
	usage := func(name string, used, limit int) string {
		return fmt.Sprintf(`{"name":{"value":%q},"currentValue":%d,"limit":%d}`, name, used, limit)
	}
	usages := []string{usage("cores", 4, 19), usage("family", 3, 10), usage("over", 9, 8)}
	all := said{http.StatusOK, `{"value":[` + strings.Join(usages, ",") + "]}"}
	for name, c := range map[string]struct {
		family string
		cpus   int
		spot   bool
		check  string
		result cloud.Result
		says   string
	}{
		"room":           {"family", 3, false, ours, ok, "3 of 10 cores of family are used, and a VM needs 3: there is room for 2"},
		"just room":      {"Family", 7, false, ours, ok, "room for 1"},
		"none":           {"family", 8, false, ours, failed, "needs 8: ask for more with az quota update --resource-name family"},
		"used too much":  {"over", 1, false, ours, failed, "9 of 8 cores of over are used, and a VM needs 1"},
		"the region's":   {"family", 7, false, region, ok, "4 of 19 cores of all families are used"},
		"not there":      {"other", 16, false, region, failed, "--resource-name cores"},
		"of no family":   {"", 1, false, ours, warning, "lists no quota"},
		"another family": {"other", 1, false, ours, warning, "lists no quota"},
		"no CPUs":        {"family", 0, false, ours, warning, "lists no quota"},
		"no quota":       {"family", 1, true, ours, warning, "lists no quota"},
	} {
		spec := &infrav1.AzureVM{VMSize: "one"}
		if c.spot {
			spec.Priority = infrav1.AzurePrioritySpot
		}
		size := fmt.Sprintf(`{"resourceType":"virtualMachines","name":"one","family":%q,`+
			`"capabilities":[{"name":"vCPUs","value":"%d"}]}`, c.family, c.cpus)
		found, _ := blueInspected(t, spec, map[string]said{"/usages": all, "/skus": {http.StatusOK, `{"value":[` + size + "]}"}})
		got := finding(found, c.check)
		expect.Same(t, name+": "+got.Text, true, got.Result == c.result && strings.Contains(got.Text, c.says))
	}
	found, _ := blueInspected(t, &infrav1.AzureVM{VMSize: "one"}, map[string]said{"/usages": all})
	expect.Same(t, "a quota without a size", cloud.Finding{}, finding(found, ours))
	got := finding(found, "size one")
	expect.Same(t, "no sizes: "+got.Text, true, got.Result == warning && strings.Contains(got.Text, "az account list-locations"))
}

// TestLookAtAnImage: a gallery without versions has no image, and a version is looked at below its image. A version whose name
// cannot be part of an address is none.
func TestLookAtAnImage(t *testing.T) {
	const profile = `"publishingProfile":{"targetRegions":[{"name":"westeurope"}]}`
	body := said{http.StatusOK, `{"properties":{"hyperVGeneration":"V2",` + profile + "}}"}
	market := infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{Publisher: "p", Offer: "o", SKU: "s"}}
	for name, c := range map[string]struct {
		image    infrav1.AzureImage
		versions string
		status   int
		last     string // the path that is asked for last
		result   cloud.Result
		says     string
	}{
		"a version": {
			infrav1.AzureImage{ID: armsim.GalleryImage + "/versions/1"},
			"", 0, "windows-2022/versions/1", cloud.CheckOK,
			"2022 1 exists and",
		},
		"the latest": {
			infrav1.AzureImage{ID: armsim.GalleryImage},
			`{"value":[{"name":"1.9"},{"name":"1.10"}]}`, http.StatusOK,
			"windows-2022/versions/1.10", cloud.CheckOK, "2022 1.10 exists and",
		},
		"the latest of none": {
			infrav1.AzureImage{ID: armsim.GalleryImage}, "{}", http.StatusOK, "/versions", cloud.CheckFailed, "latest does not exist",
		},
		"an odd one": {
			infrav1.AzureImage{ID: armsim.GalleryImage},
			`{"value":[{"name":"../../x"}]}`, http.StatusOK, "/versions", cloud.CheckFailed,
			"latest does not exist",
		},
		"versions are hidden": {
			infrav1.AzureImage{ID: armsim.GalleryImage},
			denied, http.StatusForbidden, "/versions", cloud.CheckWarning,
			"cannot be checked",
		},
		"the latest of the market": {market, "[]", http.StatusOK, "/s/versions", cloud.CheckFailed, "az vm image list --publisher p"},
	} {
		answers := map[string]said{"windows-2022": body, "/versions/1": body, "/versions/1.10": body}
		if c.status != 0 {
			answers["/versions"] = said{c.status, c.versions}
		}
		found, paths := blueInspected(t, &infrav1.AzureVM{VMSize: "one", Image: c.image}, answers)
		got := finding(found, "image")
		expect.Same(t, name+": "+got.Text, true, got.Result == c.result && strings.Contains(got.Text, c.says))
		expect.Same(t, name+": asked for "+paths[len(paths)-1], true, strings.HasSuffix(paths[len(paths)-1], c.last))
	}
}

// TestInspectSubnet: a subnet that is not there, one whose group is not, and one without room.
func TestInspectSubnet(t *testing.T) {
	shows := func(properties string) said { return said{http.StatusOK, `{"properties":{` + properties + "}}"} }
	const used, more = `"ipConfigurations":[{"id":"a"},{"id":"b"}]`, `"ipConfigurations":[{},{},{}]`
	for name, c := range map[string]struct {
		answer said
		result cloud.Result
		says   string
	}{
		"there":             {said{http.StatusOK, "{}"}, cloud.CheckOK, "nodes exists"},
		"gone":              {said{http.StatusNotFound, gone}, cloud.CheckFailed, "networkInterfaces; az network vnet subnet list"},
		"its group is gone": {said{http.StatusNotFound, blue.Fault("ResourceGroupNotFound")}, cloud.CheckFailed, "does not exist"},
		"hidden":            {said{http.StatusForbidden, denied}, cloud.CheckWarning, "cannot be checked"},
		"full":              {shows(`"addressPrefix":"10.0.0.0/29",` + more), cloud.CheckFailed, "has 0 free addresses"},
		"one is left":       {shows(`"addressPrefix":"10.0.0.0/29",` + used), cloud.CheckOK, "nodes exists"},
		"two prefixes":      {shows(`"addressPrefixes":["fd00::/64","10.0.0.0/29"],` + used), cloud.CheckOK, "nodes exists"},
		"an odd prefix":     {shows(`"addressPrefix":"x",` + used), cloud.CheckOK, "nodes exists"},
	} {
		found, _ := blueInspected(t, &infrav1.AzureVM{VMSize: "one"}, map[string]said{"/subnets/nodes": c.answer})
		got := finding(found, "subnet 1")
		expect.Same(t, name+": "+got.Text, true, got.Result == c.result && strings.Contains(got.Text, c.says))
	}
}
