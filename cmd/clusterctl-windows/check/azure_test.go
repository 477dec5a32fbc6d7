package check

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
)

func checkedBy(t *testing.T, text string, options Options) []cloud.Finding {
	t.Helper()
	return checkedIn(t, "azure", text, options)
}

func finding(found []cloud.Finding, check string) cloud.Finding {
	at := slices.IndexFunc(found, func(f cloud.Finding) bool { return f.Check == check })
	if at < 0 {
		return cloud.Finding{}
	}
	return found[at]
}

// bad are the checks that failed, or cannot be made.
func bad(found []cloud.Finding) (all []string) {
	for _, f := range found {
		if f.Result == cloud.CheckFailed || f.Result == cloud.CheckWarning {
			all = append(all, f.Check)
		}
	}
	return all
}

// TestAzureAsThisComputer: where the files have no proof of the machine's identity, Azure is asked as the computer, and the table
// says so; with the proof, it is asked as the machine's.
func TestAzureAsThisComputer(t *testing.T) {
	asApp(t)
	sim := armsim.New(t)
	options := labOptions(t, sim)
	const reference = "  clientSecret: {name: proof, namespace: default}\n"
	proof := map[string]string{"clientSecret": armsim.Secret, "cloud": "Lab"}
	known := strings.NewReplacer(theirClient, armsim.ClientID, theirTenant, armsim.Tenant)
	cluster := "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureCluster\nmetadata: {name: blue}\nspec:\n" +
		"  subscriptionID: " + armsim.Subscription + "\n  identityRef: {kind: AzureClusterIdentity, name: nodes}\n"
	none, byIdentity := pool(1, whole("")), pool(1, whole(anIdentity))
	proved := func(kind string) string {
		return known.Replace(clusterIdentity(kind, reference)) + secret("proof", proof)
	}
	const nodes, lack = "AzureClusterIdentity default/nodes", ", which the files do not have: add the output of kubectl "
	const more = " -n default -o yaml with another -f to check as it"
	const shows = "; az role assignment list --assignee " + theirClient + " --all --output table shows what it may do"
	const theManagers = ", which only the manager can prove" + shows
	workload := clusterIdentity("WorkloadIdentity", "")
	for name, c := range map[string]struct {
		files string
		says  string // of the machine's identity; empty if it is asked as that one
	}{
		"no identity":           {none, "the manager's own, which no file names"},
		"an identity elsewhere": {byIdentity, nodes + lack + "get azureclusteridentity nodes" + more},
		"another group's": {
			byIdentity + strings.Replace(workload, "infrastructure.cluster.x-k8s.io", "identities.test", 1),
			nodes + lack + "get azureclusteridentity nodes" + more,
		},
		"workload identity": {byIdentity + workload, nodes + " of type WorkloadIdentity" + theManagers},
		"managed identity": {
			byIdentity + clusterIdentity("UserAssignedMSI", ""), nodes + " of type UserAssignedMSI" + theManagers,
		},
		"the AzureCluster's": {none + cluster + workload, nodes + " of type WorkloadIdentity" + theManagers},
		"a Secret elsewhere": {pool(1, whole(aSecret)), "the Secret default/azure" + lack + "get secret azure" + more},
		"its Secret elsewhere": {
			byIdentity + clusterIdentity("ServicePrincipal", reference),
			nodes + ", and the files do not have its Secret: add the output of kubectl get secret proof" + more + shows,
		},
		"the proof":                {byIdentity + proved("ServicePrincipal"), ""},
		"the AzureCluster's proof": {none + cluster + proved("ManualServicePrincipal"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := checkedBy(t, c.files, options)
			got := finding(found, "identity")
			const sentence = "checked as " + armsim.ClientID + ", not as the machine's identity: rights and visibility are those of " +
				"the former. The machine's identity is "
			if c.says == "" {
				expect.Same(t, "what is not well", 0, len(bad(found)))
				expect.Same(t, "somebody else", "", got.Text)
				return
			}
			expect.Same(t, "who was asked", cloud.Finding{Check: "identity", Result: cloud.CheckWarning, Text: sentence + c.says}, got)
			expect.Same(t, "what is not well", []string{"identity"}, bad(found))
			expect.Same(t, "the tenant", "Azure accepts the credentials for tenant "+armsim.Tenant, finding(found, "login").Text)
		})
	}
}

// TestAzureOthersRights: that the computer lacks rights is to be looked at; of the machine's own proof, it is a failure.
func TestAzureOthersRights(t *testing.T) {
	asApp(t)
	sim := armsim.New(t)
	sim.Change(func(in *armsim.Inside) {
		in.Rights.Revoke(armsim.ObjectID)
		in.Rights.Grant(armsim.ObjectID, "/subscriptions/"+armsim.Subscription, "*/read")
	})
	options := labOptions(t, sim)
	found := checkedBy(t, pool(1, whole(anIdentity))+clusterIdentity("WorkloadIdentity", ""), options)
	got := finding(found, "rights in the group")
	const shows = "az role assignment list --assignee " + theirClient + " --scope /subscriptions/"
	lacks := strings.HasPrefix(got.Text, armsim.ClientID+" lacks ") && strings.Contains(got.Text, shows)
	if got.Result != cloud.CheckWarning || !lacks {
		t.Errorf("found %+v", got)
	}
	login := map[string]string{"tenantID": armsim.Tenant, "clientID": armsim.ClientID, "clientSecret": armsim.Secret, "cloud": "Lab"}
	got = finding(checkedBy(t, pool(1, whole(aSecret))+secret("azure", login), options), "rights in the group")
	const gives = "az role assignment create --assignee " + armsim.ClientID + " --role ROLE --scope /subscriptions/"
	if got.Result != cloud.CheckFailed || !strings.Contains(got.Text, gives) {
		t.Errorf("found %+v", got)
	}
	identity := strings.NewReplacer(theirClient, armsim.ClientID, theirTenant, armsim.Tenant).Replace(
		clusterIdentity("ServicePrincipal", "  clientSecret: {name: proof}\n"))
	proof := secret("proof", map[string]string{"clientSecret": armsim.Secret, "cloud": "Lab"}) // it does not name the client
	got = finding(checkedBy(t, pool(1, whole(anIdentity))+identity+proof, options), "rights in the group")
	if got.Result != cloud.CheckFailed || !strings.Contains(got.Text, gives) {
		t.Errorf("of an AzureClusterIdentity: found %+v", got)
	}
}

// TestAzureWithoutAnIdentity: a computer that is nobody, or somebody whom Entra ID refuses, says what to do.
func TestAzureWithoutAnIdentity(t *testing.T) {
	sim := armsim.New(t)
	for name, c := range map[string]struct {
		environment map[string]string
		options     *Options
		check, says string
	}{
		"nobody": {nil, nil, "login", "run az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"},
		"a wrong secret": {map[string]string{
			"AZURE_TENANT_ID": armsim.Tenant, "AZURE_CLIENT_ID": armsim.ClientID, "AZURE_CLIENT_SECRET": "canary-1234",
		}, nil, "login", "write the secret's value, not its id, into this computer's environment (AADSTS7000215)"},
		"a wrong tenant": {map[string]string{
			"AZURE_TENANT_ID": theirTenant, "AZURE_CLIENT_ID": armsim.ClientID, "AZURE_CLIENT_SECRET": "canary-1234",
		}, nil, "login", "correct the tenant in this computer's environment"},
		"an authority that is not Microsoft's": {
			map[string]string{"AZURE_AUTHORITY_HOST": "https://login.test"},
			&Options{}, "credentials",
			"name the cloud with --azure-cloud",
		},
		"no such cloud": {
			nil, &Options{AzureCloud: "Moon\x1b[2J"}, "credentials", "--azure-cloud=Moon\x1b[2J is not defined: use one of Azure",
		},
		"no such file": {nil, &Options{AzureClouds: "/nowhere"}, "credentials", "--azure-clouds: "},
	} {
		t.Run(name, func(t *testing.T) {
			bareComputer(t)
			for variable, value := range c.environment {
				t.Setenv(variable, value)
			}
			options := cmp.Or(c.options, new(labOptions(t, sim)))
			got := finding(checkedBy(t, pool(1, whole("")), *options), c.check)
			if !strings.Contains(got.Text, c.says) || strings.Contains(got.Text, "canary") || strings.Contains(got.Text, "controller") {
				t.Errorf("found %+v", got)
			}
		})
	}
}

// TestAzureIdentitiesThatAreRefused: what the manager refuses of an identity is refused here, in its words.
func TestAzureIdentitiesThatAreRefused(t *testing.T) {
	asApp(t)
	options := labOptions(t, armsim.New(t))
	changed := func(from, to string) string {
		return strings.Replace(clusterIdentity("WorkloadIdentity", ""), from, to, 1)
	}
	allowed := func(who string) string { return changed("allowedNamespaces: {}", "allowedNamespaces: {"+who+"}") }
	labelled := func(kind, name, team string) string {
		return "---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + ", labels: {team: " + team + "}}\n"
	}
	namespace := func(team string) string { return labelled("Namespace", "default", team) }
	const selector, other = "selector: {matchLabels: {team: blue}}", "does not allow namespace default"
	file := clusterIdentity("ServicePrincipalCertificate", "  certPath: /etc/proof\n")
	theirs := clusterIdentity("ServicePrincipal", "  clientSecret: {name: proof, namespace: other}\n")
	const reference = "  clientSecret: {name: proof}\n"
	twice := secret("proof", nil) + secret("proof", nil)
	for name, c := range map[string]struct{ identity, check, says string }{
		"its proof twice": {clusterIdentity("ServicePrincipal", reference) + twice, "credentials", "proof exists 2 times"},
		"a file":          {file, "credentials", "reads a file"},
		"no such type":    {clusterIdentity("Magic", ""), "credentials", `has the type "Magic"`},
		"other teams":     {allowed("list: [other]"), "credentials", other},
		"a selector":      {allowed(selector), "identity", "not as the machine's"},
		"and a list":      {allowed("list: [other], " + selector), "identity", "not as the machine's"},
		"another team's":  {allowed(selector) + labelled("Namespace", "other", "red"), "identity", "not as the machine's"},
		"another kind's":  {allowed(selector) + labelled("ConfigMap", "default", "red"), "identity", "not as the machine's"},
		"that fits":       {allowed(selector) + namespace("blue"), "identity", "not as the machine's"},
		"that fits not":   {allowed(selector) + namespace("red"), "credentials", other},
		"another's proof": {theirs, "credentials", "own namespace"},
		"an odd client":   {changed(theirClient, "../x"), "credentials", "invalid clientID"},
	} {
		got := finding(checkedBy(t, pool(1, whole(anIdentity))+c.identity, options), c.check)
		if !strings.Contains(got.Text, c.says) {
			t.Errorf("%s: found %+v", name, got)
		}
	}
}

// TestAzureClustersIdentity: where the pool has no identity, that of the AzureCluster is tried in the same way.
func TestAzureClustersIdentity(t *testing.T) {
	asApp(t)
	options := labOptions(t, armsim.New(t))
	cluster := func(identity string) string {
		return "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureCluster\nmetadata: {name: blue}\nspec:\n" +
			"  subscriptionID: " + armsim.Subscription + "\n  identityRef: " + identity + "\n"
	}
	refused := strings.Replace(clusterIdentity("WorkloadIdentity", ""), "allowedNamespaces: {}", "allowedNamespaces: {list: []}", 1)
	for name, c := range map[string]struct{ files, want string }{
		"none": {
			cluster("{kind: Secret, name: a}"), "WindowsMachine default/blue-windows-1: spec.identityRef of AzureCluster default/blue " +
				"names no AzureClusterIdentity: set kind and name",
		},
		"refused": {
			cluster("{kind: AzureClusterIdentity, name: nodes}") + refused, "WindowsMachine default/blue-windows-1: " +
				"AzureClusterIdentity default/nodes does not allow namespace default: add the namespace to its spec.allowedNamespaces",
		},
	} {
		expect.Same(t, name, c.want, finding(checkedBy(t, pool(1, whole(""))+c.files, options), "credentials").Text)
	}
	login := secret("azure", nil)
	expect.Same(t, "a Secret twice", "Secret default/azure exists 2 times; keep only one: standard input: document 4, line 35; "+
		"standard input: document 5, line 40",
		finding(checkedBy(t, pool(1, whole(aSecret))+login+login, options), "credentials").Text)
}

// TestAzureCountsThePool: what is asked for is the quota and the addresses of all machines, each refusal with its command.
func TestAzureCountsThePool(t *testing.T) {
	asApp(t)
	const family = "standardDSv5Family"
	limit := func(n int) func(*armsim.Inside) {
		return func(in *armsim.Inside) { in.Compute.Faults.Cores = map[string]int{family: n} }
	}
	small := strings.Replace(whole(""), armsim.SubnetID, armsim.SmallSubnet, 1)
	const size = "vmSize: Standard_D4s_v5\n"
	fallback := strings.Replace(whole(""), size, size+"        fallbackVMSizes: [Standard_D4as_v5]\n", 1)
	limits := func(family string, n int, other string, m int) func(*armsim.Inside) {
		return func(in *armsim.Inside) { in.Compute.Faults.Cores = map[string]int{family: n, other: m} }
	}
	const check, failed, warning, ok = "quota for Standard_D4s_v5", cloud.CheckFailed, cloud.CheckWarning, cloud.CheckOK
	const raise = "az quota update --resource-name " + family + " --scope /subscriptions/" + armsim.Subscription +
		"/providers/Microsoft.Compute/locations/westeurope --resource-type dedicated --limit-object value=12"
	for name, c := range map[string]struct {
		files  string
		change func(*armsim.Inside)
		check  string
		result cloud.Result
		says   string
	}{
		"room":           {pool(3, whole("")), limit(12), check, ok, "0 of 12 cores of " + family + " are used, and 3 VMs need 12"},
		"no room":        {pool(3, whole("")), limit(11), check, failed, "3 VMs need 12: ask for more with " + raise},
		"room for one":   {pool(1, whole("")), limit(4), check, ok, "a VM needs 4"},
		"none yet":       {pool(0, whole("")), limit(3), check, failed, "a VM needs 4"},
		"room elsewhere": {pool(3, fallback), limit(4), check, warning, "3 VMs need 12"},
		"nowhere room":   {pool(9, fallback), limits(family, 4, "standardDASv5Family", 8), check, failed, "9 VMs need 36"},
		"in the region":  {pool(3, whole("")), limit(12), "regional " + check, ok, "of all families are used, and 3 VMs need 12"},
		"not enough there": {
			pool(3, whole("")), limits(family, 12, compute.AllCores, 11), "regional " + check, failed,
			"--resource-name cores --scope /subscriptions/",
		},
		"addresses":       {pool(3, small), limit(12), "subnet 1", ok, "exists"},
		"too few of them": {pool(4, small), limit(99), "subnet 1", failed, "has 3 free addresses, and the pool needs 4"},
	} {
		t.Run(name, func(t *testing.T) {
			sim := armsim.New(t)
			sim.Change(c.change)
			got := finding(checkedBy(t, c.files, labOptions(t, sim)), c.check)
			if got.Result != c.result || !strings.Contains(got.Text, c.says) {
				t.Errorf("found %+v", got)
			}
		})
	}
}

// TestAzureZone: the Machine's failure domain leaves no choice of zones.
func TestAzureZone(t *testing.T) {
	asApp(t)
	options := labOptions(t, armsim.New(t))
	for domain, want := range map[string]cloud.Result{"2": cloud.CheckOK, "9": cloud.CheckFailed} {
		const version = "version: v1.36.3\n"
		files := strings.Replace(pool(1, whole("")), version, version+"      failureDomain: \""+domain+"\"\n", 1)
		got := finding(checkedBy(t, files, options), "size Standard_D4s_v5")
		if got.Result != want || want == cloud.CheckFailed && !strings.Contains(got.Text, "az vm list-skus --location westeurope") {
			t.Errorf("in zone %s: %+v", domain, got)
		}
	}
}

// TestAzureClusters: of several, that of the machine's Cluster counts.
func TestAzureClusters(t *testing.T) {
	asApp(t)
	options := labOptions(t, armsim.New(t))
	one := func(name, group string) string {
		return "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureCluster\nmetadata: {name: " + name + "}\nspec:\n" +
			"  subscriptionID: " + armsim.Subscription + "\n  resourceGroup: " + group + "\n"
	}
	cluster := "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: blue}\nspec:\n" +
		"  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: second}\n"
	inherits := strings.Replace(whole(""), "        resourceGroup: "+armsim.Group+"\n", "", 1)
	both := pool(1, inherits) + one("first", "elsewhere") + one("second", armsim.Group)
	got := finding(checkedBy(t, both+cluster, options), "resource group")
	want := cloud.Finding{Check: "resource group", Result: cloud.CheckOK, Text: armsim.Group + " has 0 VMs"}
	expect.Same(t, "of the Cluster's", want, got)
	got = finding(checkedBy(t, both, options), "credentials")
	if !strings.Contains(got.Text, "several AzureClusters in namespace default") {
		t.Errorf("found %+v", got)
	}
}
