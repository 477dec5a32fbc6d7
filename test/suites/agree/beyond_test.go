package agree

import "slices"

// beyondFiles are refused for what the plugin cannot know: it takes them, and says so here by name.
func beyondFiles() []file {
	of := func(reason, wants, cloud, owner string, r row) []file {
		all := files(beyond, cloud, owner, r)
		all[0].reason, all[0].wants = reason, wants
		return all
	}
	return slices.Concat(
		of("VersionSkew", "the version of the cluster's control plane", onVSphere, machine,
			row{"a version that is too old for the control plane", `{owner: {spec: {version: v1.31.0}}}`}),
		of("PrivateIPAddressNotInSubnet", "the subnet in Azure", inAzure, machine,
			row{"an address of another subnet", `{vm: {networkInterfaces: [{name: node, subnet: {id: $SUBNET},
	    privateAddress: 10.9.0.9}]}}`}),
		of("DiskSmallerThanImage", "the image in Azure", inAzure, deployment,
			row{"a disk that is smaller than the image", `{vm: {osDisk: {sizeGiB: 30}}}`}),
	)
}
