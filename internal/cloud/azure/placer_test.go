package azure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestCloudOfAPlace: a principal is one of the cloud that the machine's AzureCluster is in, so that the same client in another
// cloud is another one. The public cloud is an AzureCluster's default and leaves it to the manager.
func TestCloudOfAPlace(t *testing.T) {
	secret := map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte("a secret"),
	}
	names := map[string]bool{}
	for place, host := range map[infrav1.AzureCloud]string{
		"": "login.microsoftonline.com", infrav1.AzurePublicCloud: "login.microsoftonline.com",
		infrav1.AzureUSGovernmentCloud: "login.microsoftonline.us", infrav1.AzureChinaCloud: "login.chinacloudapi.cn",
	} {
		p := Provider{}
		grant := expect.Got(p.Allow(cloud.Asker{Namespace: "team", Cloud: string(place)}, servicePrincipal("team")))(t)
		who := expect.Got(p.As(grant).(Provider).signIn(map[string][]byte{"clientSecret": []byte("a secret")}))(t)
		if !strings.Contains(who.Cloud.Authority, host) {
			t.Errorf("%q logs in at %s, want %s", place, who.Cloud.Authority, host)
		}
		names[who.Name()] = true
	}
	expect.Same(t, "principals", 3, len(names))
	inPlace := Provider{Cloud: string(infrav1.AzureChinaCloud)}.As(cloud.Grant{Cloud: string(infrav1.AzureUSGovernmentCloud)})
	of := expect.Got(inPlace.(Provider).signIn(secret))(t)
	at := of.Cloud.Authority
	expect.Same(t, "the cloud of a Secret's machine", true, strings.Contains(at, "microsoftonline.us"))
	p := Provider{Cloud: string(infrav1.AzureChinaCloud)}
	who := expect.Got(p.signIn(secret))(t)
	expect.Same(t, "the manager's usual cloud", true, strings.Contains(who.Cloud.Authority, "chinacloudapi"))
	secret["cloud"] = []byte(infrav1.AzureUSGovernmentCloud)
	who = expect.Got(p.As(cloud.Grant{Cloud: string(infrav1.AzureChinaCloud)}).(Provider).signIn(secret))(t)
	expect.Same(t, "the Secret's own cloud", true, strings.Contains(who.Cloud.Authority, "microsoftonline.us"))
	delete(secret, "cloud")
	_, err := Provider{}.As(cloud.Grant{Proof: "ClientSecret", Cloud: "NoCloud"}).(Provider).signIn(secret)
	if refused, ok := errors.AsType[*cloud.Error](err); !ok || !strings.Contains(refused.Message, "NoCloud") {
		t.Errorf("a cloud that is not known: %v", err)
	}
	managed := Provider{}.As(cloud.Grant{Proof: "ManagedIdentity", ClientID: armsim.ClientID, TenantID: armsim.Tenant}).(Provider)
	expect.Same(t, "the tenant of a managed identity", armsim.Tenant, expect.Got(managed.signIn(nil))(t).TenantID)
}

// TestAllowRefuses who has no right to the manager's own identity, and an identity that cannot be read or may not be used.
func TestAllowRefuses(t *testing.T) {
	team := cloud.Asker{Namespace: "team"}
	identity := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	for name, test := range map[string]struct {
		by       cloud.Asker
		identity *unstructured.Unstructured
		says     string
	}{
		"another namespace":      {cloud.Asker{Namespace: "other"}, nil, "namespace other"},
		"an identity of numbers": {team, identity(map[string]any{"type": int64(1)}), "another type than v1beta1 in spec.type"},
		"an identity for nobody": {team, identity(map[string]any{"type": "ServicePrincipal"}), "does not allow namespace team"},
	} {
		grant, err := Provider{Namespaces: []string{"team"}}.Allow(test.by, test.identity)
		expect.Same(t, name, cloud.Grant{}, grant)
		expect.Says(t, name, err, test.says)
	}
}

// TestLendInKnownClouds: an identity that is lent is in a cloud that the manager knows. Else its token would be asked for
// elsewhere.
func TestLendInKnownClouds(t *testing.T) {
	const client = "99999999-0000-4000-8000-000000000009"
	for entry, says := range map[string]string{
		client + "=team":                 "",
		client + "@AzureChinaCloud=team": "",
		client + "@AzureAtlantis=team":   "the cloud AzureAtlantis is not defined; use one of AzurePublicCloud, ",
		client + "@AzureAtlantis=*":      "the cloud AzureAtlantis is not defined",
	} {
		_, err := Provider{}.Lend([]string{entry})
		expect.Says(t, entry, err, says)
	}
}

// TestCheckWantsAnImage of any source.
func TestCheckWantsAnImage(t *testing.T) {
	for name, test := range map[string]struct {
		image infrav1.AzureImage
		says  string
	}{
		"none":          {infrav1.AzureImage{}, "spec.azure.image is not set"},
		"by ID":         {infrav1.AzureImage{ID: "x"}, ""},
		"a gallery":     {infrav1.AzureImage{ComputeGallery: infrav1.AzureGalleryImage{Name: "x"}}, ""},
		"a community's": {infrav1.AzureImage{CommunityGallery: infrav1.AzureCommunityImage{Name: "x"}}, ""},
		"a market's":    {infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{SKU: "x"}}, ""},
	} {
		m := &infrav1.WindowsMachine{}
		m.Spec.Azure = &infrav1.AzureVM{Image: test.image}
		expect.Says(t, name, Provider{}.Check(m), test.says)
	}
	expect.Says(t, "no part of the spec", Provider{}.Check(&infrav1.WindowsMachine{}), "")
}

// TestCheckBeforeTheRequest refuses what the request for a VM would be refused for: nobody has to be asked for that.
func TestCheckBeforeTheRequest(t *testing.T) {
	many := func(letter string) map[string]infrav1.AzureTagValue {
		tags := map[string]infrav1.AzureTagValue{}
		for i := range 30 {
			tags[fmt.Sprint(letter, i)] = "a"
		}
		return tags
	}
	fixed := infrav1.AzureNetworkInterface{Name: "storage", PrivateAddress: "10.1.0.9"}
	for name, test := range map[string]struct {
		adapters []infrav1.AzureNetworkInterface
		ours     map[string]infrav1.AzureTagValue
		says     string
	}{
		"a public address beside a fixed one": {
			adapters: []infrav1.AzureNetworkInterface{{Name: "node", PublicIP: infrav1.AzureEnabled}, fixed},
			says:     "spec.azure.networkInterfaces: node has a public IP",
		},
		"a fixed address":                  {adapters: []infrav1.AzureNetworkInterface{{Name: "node"}, fixed}},
		"too many with the AzureCluster's": {ours: many("our"), says: "spec.azure.additionalTags, together with the tags"},
		"the AzureCluster's too":           {ours: many("their")},
	} {
		m := &infrav1.WindowsMachine{}
		m.Spec.Azure = &infrav1.AzureVM{Image: infrav1.AzureImage{ID: "x"}, NetworkInterfaces: test.adapters, AdditionalTags: test.ours}
		m.Status.Azure = &infrav1.AzurePlacement{Tags: many("their")}
		expect.Says(t, name, Provider{}.Check(m), test.says)
	}
}

// TestResolveOfADeletedMachine: of a machine that is deleted, only the rights and the cloud of its VM are still asked for, and an
// AzureCluster that cannot be understood gives none.
func TestResolveOfADeletedMachine(t *testing.T) {
	m := &infrav1.WindowsMachine{}
	m.DeletionTimestamp = &metav1.Time{Time: blue.Noon}
	ref := func(kind string) map[string]any {
		return map[string]any{"identityRef": map[string]any{"kind": kind, "name": "id"}}
	}
	public := infrav1.AzurePlacement{Cloud: infrav1.AzurePublicCloud}
	of := public
	of.Identity = infrav1.AzureIdentity{Namespace: "team", Name: "id"}
	for name, c := range map[string]struct {
		spec map[string]any
		want infrav1.AzurePlacement
		says string
	}{
		"it names an identity":   {ref("AzureClusterIdentity"), of, ""},
		"it names none":          {map[string]any{}, public, ""},
		"an identity of no kind": {ref("Secret"), infrav1.AzurePlacement{}, "spec.identityRef of AzureCluster team/blue names no"},
		"an unknown cloud":       {map[string]any{"azureEnvironment": "Mars"}, infrav1.AzurePlacement{Cloud: "Mars"}, `cloud "Mars"`},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}
		object.SetNamespace("team")
		object.SetName("blue")
		m.Status.Azure = nil
		expect.Says(t, name, Provider{}.Resolve(m, object), c.says)
		expect.Same(t, name, c.want, ptr.Deref(m.Status.Azure, infrav1.AzurePlacement{}))
	}
	m.Status.Azure = nil
	expect.OK(t, Provider{}.Resolve(m, nil))
	expect.Same(t, "no AzureCluster", &infrav1.AzurePlacement{}, m.Status.Azure)
}
