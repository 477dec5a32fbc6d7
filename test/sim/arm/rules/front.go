package rules

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// regions are some of those that the providers of compute and network serve, of all clouds.
var regions = strings.Fields("westeurope northeurope uksouth francecentral germanywestcentral swedencentral eastus eastus2 " +
	"centralus westus westus2 westus3 southeastasia eastasia australiaeast japaneast chinaeast2 chinanorth3 " +
	"usgovvirginia usgovarizona")

// zonesOf are the zones that a region has; the others here have three.
var zonesOf = map[string][]string{"westus": {}, "usgovarizona": {}}

// front are what ARM itself refuses before it asks a provider, of all types of resources.
var front = slices.Concat(frontPlace, frontTags)

// CheckTags returns the first refusal of a body's tags.
func CheckTags(r Request) *reply.Error { return check(frontTags, r) }

var frontPlace = []Rule{
	{"location", func(r Request) *reply.Error {
		if r.Create && doc.Text(r.Body, "location") == "" {
			return reply.New(http.StatusBadRequest, "LocationRequired", "The location property is required for this definition.") // [V]
		}
		return nil
	}},
	{"region", func(r Request) *reply.Error {
		if at := doc.Text(r.Body, "location"); at != "" && !slices.Contains(regions, region(at)) {
			return reply.New(http.StatusBadRequest, "LocationNotAvailableForResourceType", "The provided location '%s' is not available "+
				"for resource type '%s'. List of available regions for the resource type is '%s'.", at, r.ID.Type(),
				strings.Join(regions, ",")) // [V]
		}
		return nil
	}},
}

// frontTags are the limits of tags [D tag-resources]: 50 tags, names of 512 and values of 256 characters.
var frontTags = []Rule{
	{"number of tags", func(r Request) *reply.Error {
		if n := len(doc.Of(r.Body, "tags")); n > mostTags {
			return reply.New(400, "TagsLimitExceeded", "The number of tags on the resource is '%d'. The limit is '%d'.", n, mostTags)
		}
		return nil
	}},
	tags("characters of tag names", func(name, _ string) *reply.Error {
		if strings.ContainsAny(name, `<>%&\?/`) {
			return reply.New(400, "InvalidTagNameCharacters",
				`The tag names '%s' have reserved characters '<,>,%%,&,\,?,/' or control characters.`, name)
		}
		return nil
	}),
	tags("length of tag names", func(name, _ string) *reply.Error {
		if characters(name) > longestTag {
			return reply.New(400, "InvalidTagName", "Tag name too large. Following tag name '%s' exceeded the maximum length. Maximum "+
				"allowed length for tag name - '%d' characters.", name, longestTag)
		}
		return nil
	}),
	tags("length of tag values", func(_, value string) *reply.Error {
		if characters(value) > longestTagged {
			return reply.New(400, "InvalidTagValueLength", "Tag value too large. Following tag value '%s' exceeded the maximum length. "+
				"Maximum allowed length for tag value - '%d' characters.", value, longestTagged)
		}
		return nil
	}),
}

// frontVM are ARM's rules of a type that has zones and identities.
var frontVM = []Rule{
	{"zones", func(r Request) *reply.Error {
		if zones := doc.Texts(r.Body, "zones"); len(zones) > 1 {
			return reply.InvalidParameter("zones", "The zone(s) '%s' for resource '%s' is not supported. A virtual machine can be in "+
				"one zone.", strings.Join(zones, ","), r.ID)
		}
		return nil
	}},
	{"zone of the region", func(r Request) *reply.Error {
		at := region(doc.Text(r.Body, "location"))
		has, ok := zonesOf[at]
		if !ok {
			has = []string{"1", "2", "3"}
		}
		for _, zone := range doc.Texts(r.Body, "zones") {
			if !slices.Contains(has, zone) {
				return reply.New(http.StatusBadRequest, "InvalidAvailabilityZone", "The zone(s) '%s' for resource '%s/%s' is not "+
					"supported. The supported zones for location '%s' are '%s'", zone, r.ID.Type(), r.ID.Name(), at,
					strings.Join(has, ",")) // [V]
			}
		}
		return nil
	}},
	{"user assigned identities' ids", func(r Request) *reply.Error {
		for id := range doc.Of(r.Body, "identity", "userAssignedIdentities") {
			if parsed, ok := doc.ParseID(id); !ok || !parsed.Is("Microsoft.ManagedIdentity/userAssignedIdentities") {
				return reply.New(400, "LinkedInvalidPropertyId", "Property id '%s' at path 'identity.userAssignedIdentities' is invalid. "+
					"Expect fully qualified resource Id that start with '/subscriptions/{subscriptionId}'.", id)
			}
		}
		return nil
	}},
	{"identities without their type", func(r Request) *reply.Error {
		kind := doc.Text(r.Body, "identity", "type")
		if ids := doc.Of(r.Body, "identity", "userAssignedIdentities"); (len(ids) > 0) != strings.Contains(kind, "UserAssigned") {
			return reply.New(400, "InvalidIdentityValues",
				"Invalid value for the identities '%s'. The 'UserAssignedIdentities' property keys should only be sent with the type "+
					"UserAssigned, which needs at least one.", kind)
		}
		return nil
	}},
}

// region is a location's name without blanks and capital letters.
func region(location string) string { return strings.ToLower(strings.ReplaceAll(location, " ", "")) }

// characters counts a text as .NET does, in which ARM is written: in units of UTF-16 [I].
func characters(text string) int { return len(utf16.Encode([]rune(text))) }

func tags(name string, check func(name, value string) *reply.Error) Rule {
	return Rule{Name: name, Check: func(r Request) *reply.Error {
		for tag := range doc.Of(r.Body, "tags") {
			if refused := check(tag, doc.Text(r.Body, "tags", tag)); refused != nil {
				return refused
			}
		}
		return nil
	}}
}

var (
	entity   = regexp.MustCompile(`^[^_\W][\w\-.]{0,79}$`)
	resource = regexp.MustCompile(`^\w([\w.\-]{0,78}\w)?$`)
)

// named refuses a name that compute does not take. The rule is quoted as in recordings of azure-cli and the SDKs [V].
func named(what, name string) *reply.Error {
	if entity.MatchString(name) && !strings.HasSuffix(name, "-") && !strings.HasSuffix(name, ".") {
		return nil
	}
	return reply.InvalidParameter(what, "The entity name '%s' is invalid according to its validation rule: "+
		`^[^_\W][\w-._]{0,79}(?<![-.])$.`, what)
}

// resourceNamed refuses a name that the network provider does not take [V azure-rm templates of F5, #227].
func resourceNamed(name string) *reply.Error {
	if resource.MatchString(name) {
		return nil
	}
	return reply.New(http.StatusBadRequest, "InvalidResourceName", "Resource name %s is invalid. The name can be up to 80 "+
		"characters long. It must begin with a word character, and it must end with a word character or with '_'. The name may "+
		"contain word characters or '.', '-', '_'.", name)
}
