package arm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// The tags that say whose a VM is. Namespace and name have a tag each, because a value ends at 256 characters.
const (
	ours          = "capwin-"
	namespaceTag  = ours + "namespace"
	machineTag    = ours + "machine"
	providerIDTag = ours + "providerid"
	clusterTag    = ours + "cluster"
	digestTag     = ours + "userdata" // on the VM alone
)

// Azure's limits for tags.
const (
	maxTags     = 50
	maxTagName  = 512
	maxTagValue = 256
	notInTag    = `<>%&\?/`
)

// Tags are the marks of a machine and what users want besides. Users' tags MUST have passed CheckTags.
func Tags(m cloud.Machine, users map[string]string) map[string]string {
	all := maps.Clone(users)
	if all == nil {
		all = map[string]string{}
	}
	all[namespaceTag], all[machineTag], all[providerIDTag] = m.Key.Namespace, m.Key.Name, m.ProviderID
	if cluster := m.Cluster.String(); cluster != "" {
		all[clusterTag] = cluster
	}
	return all
}

// WithDigest adds the mark of the user data with which a VM is made, if there are any.
func WithDigest(tags map[string]string, digest string) map[string]string {
	if digest != "" {
		tags[digestTag] = digest
	}
	return tags
}

// ReadDigest reads that mark among the tags of a VM.
func ReadDigest(tags map[string]string) string {
	for name, value := range tags {
		if strings.EqualFold(name, digestTag) && len(value) <= maxTagValue {
			return value
		}
	}
	return ""
}

// Belongs says whether the marks are all those of the machine. Of the Cluster the name counts: a move gives it another UID.
func Belongs(m cloud.Machine, of cloud.Marked) bool {
	return of.Key == m.Key && of.ProviderID != "" && of.ProviderID == m.ProviderID &&
		of.Cluster.Name != "" && of.Cluster.Name == m.Cluster.Name
}

// Complete says whether all marks are there, whoever's they are.
func Complete(of cloud.Marked) bool {
	return of.Key.Namespace != "" && of.Key.Name != "" && of.ProviderID != "" && of.Cluster.Name != ""
}

// ReadMark reads the marks among the tags of a resource. Azure keeps the case of a tag's name but does not tell names by it.
func ReadMark(tags map[string]string) cloud.Marked {
	var of cloud.Marked
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		value := tags[name]
		if len(value) > maxTagValue {
			continue // Azure has none
		}
		switch strings.ToLower(name) {
		case namespaceTag:
			of.Key.Namespace = value
		case machineTag:
			of.Key.Name = value
		case providerIDTag:
			of.ProviderID = value
		case clusterTag:
			of.Cluster = cloud.ReadClusterMark(value)
		}
	}
	return of
}

// Original says whether the marks were made for this VM, and not copied from another.
func Original(of cloud.Marked, vm ID) bool {
	return of.ProviderID != "" && of.ProviderID == ProviderID(vm)
}

// CheckTags says what is wrong with tags that users want, or nothing.
func CheckTags(users map[string]string) string {
	if most := maxTags - 5; len(users) > most {
		return fmt.Sprintf("there are %d tags, but a VM may have %d besides our own: remove some", len(users), most)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		low := strings.ToLower(name)
		if wrong := checkTag(low, users[name]); wrong != "" {
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
	case strings.HasPrefix(name, ours):
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
