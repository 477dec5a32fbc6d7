package bootstrap

// Where the guests of a cloud without a channel of its own report: each replaces one ConfigMap in the workload cluster.
const (
	// GuestNamespace has these ConfigMaps.
	GuestNamespace = "capwin-guests"
	// GuestGroup is the group of the bootstrap token that lets a guest write.
	GuestGroup = "system:bootstrappers:capwin"
	// GuestReportKey is the only key of the ConfigMap.
	GuestReportKey = "report"
)

// GuestReport is the name of a guest's ConfigMap. It names both of its users: the token's before the join, the node's after it.
func GuestReport(node, tokenID string) string { return node + "." + tokenID }
