package v1beta1

// The clouds. Each name is that of the cloud's part of a spec, and stands in metrics, in commands and in CloudLabel.
const (
	CloudVSphere = "vsphere"
	CloudAzure   = "azure"
)

// CloudLabel of a Cluster names the cloud whose add-ons the flavors bring for it.
const CloudLabel = "capwin.io/cloud"
