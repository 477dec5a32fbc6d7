package arm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// The tags that mark whose a VM is. Namespace and name have a tag each, because a value ends at 256 characters.
const (
	prefix        = "capwin-"
	namespaceTag  = prefix + "namespace"
	machineTag    = prefix + "machine"
	providerIDTag = prefix + "providerid"
	clusterTag    = prefix + "cluster"
	digestTag     = prefix + "userdata" // on the VM alone
)

// Azure's limits for tags.
const (
	maxTags     = 50
	maxTagName  = 512
	maxTagValue = 256
	notInTag    = `<>%&\?/`
)

// Tags are the marks of a machine and what users want besides. Users' tags MUST have passed CheckTags. The digest of the user
// data with which a VM is made is a mark of the VM alone; empty if it has none.
func Tags(m cloud.Machine, users map[string]string, digest string) map[string]string {
	tags := maps.Clone(users)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[namespaceTag], tags[machineTag], tags[providerIDTag] = m.Key.Namespace, m.Key.Name, m.ProviderID
	if cluster := m.Cluster.String(); cluster != "" {
		tags[clusterTag] = cluster
	}
	if digest != "" {
		tags[digestTag] = digest
	}
	return tags
}

// ReadDigest reads the mark of the user data among the tags of a VM.
func ReadDigest(tags map[string]string) string {
	for name, value := range tags {
		if strings.EqualFold(name, digestTag) && len(value) <= maxTagValue {
			return value
		}
	}
	return ""
}

// Belongs reports whether the marks are all those of the machine. Of the Cluster the name counts: a move gives it another UID.
func Belongs(m cloud.Machine, mark cloud.Marked) bool {
	return mark.Of(m) && mark.Cluster.Name != "" && mark.Cluster.Name == m.Cluster.Name
}

// Complete reports whether all marks are there, whoever's they are.
func Complete(mark cloud.Marked) bool {
	return mark.Key.Namespace != "" && mark.Key.Name != "" && mark.ProviderID != "" && mark.Cluster.Name != ""
}

// ReadMark reads the marks among the tags of a resource. Azure keeps the case of a tag's name but ignores it in comparisons.
func ReadMark(tags map[string]string) cloud.Marked {
	var mark cloud.Marked
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		value := tags[name]
		if len(value) > maxTagValue {
			continue // Azure has none
		}
		switch strings.ToLower(name) {
		case namespaceTag:
			mark.Key.Namespace = value
		case machineTag:
			mark.Key.Name = value
		case providerIDTag:
			mark.ProviderID = value
		case clusterTag:
			mark.Cluster = cloud.ReadClusterMark(value)
		}
	}
	return mark
}

// Original reports whether the marks were made for this VM, and not copied from another.
func Original(mark cloud.Marked, vm ID) bool {
	return mark.ProviderID != "" && mark.ProviderID == ProviderID(vm)
}

// CheckTags returns what is wrong with tags that users want; empty if nothing is.
func CheckTags[Value ~string](users map[string]Value) string {
	if limit := maxTags - 5; len(users) > limit {
		return fmt.Sprintf("there are %d tags, but a VM may have %d besides our own: remove some", len(users), limit)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		low := strings.ToLower(name)
		if wrong := checkTag(low, string(users[name])); wrong != "" {
			return fmt.Sprintf("the tag %q %s", cloud.Clean(name, 64), wrong)
		}
		if seen[low] {
			return fmt.Sprintf("two tags are named %q, because Azure ignores case in names of tags: remove one", cloud.Clean(low, 64))
		}
		seen[low] = true
	}
	return ""
}

func checkTag(name, value string) string {
	switch {
	case name == "":
		return "has an empty name: give it one"
	case strings.HasPrefix(name, prefix):
		return "begins with capwin-, which is reserved for our marks: use another name"
	case strings.HasPrefix(name, "microsoft"), strings.HasPrefix(name, "azure"), strings.HasPrefix(name, "windows"):
		return "begins with microsoft, azure or windows, which Azure reserves: use another name"
	case strings.ContainsAny(name, notInTag):
		return `has one of the characters < > % & \ ? / in its name, which Azure refuses: use another name`
	case len(name) > maxTagName:
		return fmt.Sprintf("has a name of more than %d characters: use a shorter one", maxTagName)
	case len(value) > maxTagValue:
		return fmt.Sprintf("has a value of more than %d characters: use a shorter one", maxTagValue)
	}
	return ""
}
