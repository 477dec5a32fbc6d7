package agree

import (
	"slices"
	"strings"
)

// specFiles are refused by the infrastructure controller: SpecInvalid and OwnerNotSupported.
func specFiles() []file {
	return slices.Concat(
		eachOwner(bySpec, onVSphere, row{"no template", `{vm: {image: null}}`},
			row{"an image without a template", `{vm: {image: {template: null, setup: CloudbaseInit}}}`}),
		eachOwner(bySpec, inAzure, specAzureRows...),
		files(bySpec, onVSphere, machine, row{"a failure domain", `{owner: {spec: {failureDomain: az1}}}`}),
		files(bySpec, onVSphere, deployment, row{"a failure domain", `{owner: {spec: {template: {spec: {failureDomain: az1}}}}}`}),
	)
}

// tags are this many, for an AzureCluster.
func tags(count int) string {
	var all []string
	for i := range count {
		all = append(all, "t"+strings.Repeat("a", i+1)+": a")
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// inheriting is inherits with another text in the place of one.
func inheriting(text, other string) string { return strings.Replace(inherits, text, other, 1) }

var specAzureRows = []row{
	{"no image", `{vm: {image: null}}`},
	{"an image of nothing", `{vm: {image: {id: null, setup: CloudbaseInit}}}`},
	{"no location", `{vm: {location: null}}`},
	{"no subscription", `{vm: {subscriptionID: null}}`},
	{"no group", `{vm: {resourceGroup: null}}`},
	{"no adapters", `{vm: {networkInterfaces: null}}`},
	{"no subnet", `{vm: {networkInterfaces: [{name: node}]}}`},
	{"no subnet of the second", `{vm: {networkInterfaces: [{name: node, subnet: {id: $SUBNET}}, {name: storage}]}}`},
	{"a subnet by name without an AzureCluster", `{vm: {networkInterfaces: [{name: node, subnet: {name: nodes}}]}}`},
	{"a public address beside a fixed one", `{vm: {networkInterfaces: [{name: node, subnet: {id: $SUBNET}, publicIP: Enabled},
	    {name: storage, subnet: {id: $SUBNET}, privateAddress: 10.1.0.78}]}}`},
	{"tags of an AzureCluster beside ours", `{` + inheriting("networkSpec:", "additionalTags: "+tags(30)+", networkSpec:") +
		`, vm: {additionalTags: ` + strings.ReplaceAll(tags(30), "t", "u") + `}}`},
	{"an edge zone", `{` + inheriting("networkSpec:", "extendedLocation: {name: edge, type: EdgeZone}, networkSpec:") + `}`},
	{"a cloud that there is not", `{` + inheriting("networkSpec:", "azureEnvironment: AzureMoonCloud, networkSpec:") + `}`},
}
