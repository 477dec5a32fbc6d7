package rules

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// guestRules are about the guest: its profile, its agent and what Azure tells it. Where no source is named, the limit is that of
// the field's description in the reference [D], in words of ours.
var guestRules = []Rule{
	{"name", func(r Request) *reply.Error { return named("name", r.ID.Name()) }},
	create("profile of an attached disk", "osProfile", func(p doc.Object) bool {
		return doc.Text(p, "storageProfile", "osDisk", "createOption") == "Attach" && doc.Has(p, "osProfile")
	}, "Parameter 'osProfile' is not allowed."), // [D troubleshooting-shared-images.md]
	rule("provision signal", "osProfile.requireGuestProvisionSignal", func(p doc.Object) bool {
		return doc.Get(p, "osProfile", "requireGuestProvisionSignal") == false
	}, "Parameter 'osProfile.requireGuestProvisionSignal' must either be set to true or omitted."),
	rule("certificates without agent", "osProfile.secrets", func(p doc.Object) bool {
		return len(doc.List(p, "osProfile", "secrets")) > 0 &&
			doc.Get(p, "osProfile", "windowsConfiguration", "provisionVMAgent") == false
	}, "Certificates cannot be added to your VM if the VM agent is not provisioned."), // [D]
	rule("assessment without agent", "windowsConfiguration.patchSettings.assessmentMode", func(p doc.Object) bool {
		w := doc.Of(p, "osProfile", "windowsConfiguration")
		return doc.Text(w, "patchSettings", "assessmentMode") == "AutomaticByPlatform" && doc.Get(w, "provisionVMAgent") == false
	}, "assessmentMode AutomaticByPlatform requires that provisionVMAgent is true."),
	patch("settings of platform patches", func(mode string, w doc.Object) bool {
		return doc.Has(w, "patchSettings", "automaticByPlatformSettings") && mode != "AutomaticByPlatform"
	}, "automaticByPlatformSettings can be specified only with patchMode AutomaticByPlatform."),
	{"unattend content", func(r Request) *reply.Error {
		for _, c := range doc.List(r.Body, "properties", "osProfile", "windowsConfiguration", "additionalUnattendContent") {
			if v := doc.Text(c, "content"); len(v) >= longestUnattend || !strings.HasPrefix(strings.TrimSpace(v), "<") {
				return reply.InvalidParameter("additionalUnattendContent.content", "The XML must be less than 4KB and must include the "+
					"root element for the setting or feature that is being inserted.")
			}
		}
		return nil
	}},
	text("extensionsTimeBudget", in("extensionsTimeBudget"), func(v string) *reply.Error {
		if m, ok := minutes(v); !ok || m < 15 || m > 120 {
			return reply.InvalidParameter("extensionsTimeBudget", "The value of parameter extensionsTimeBudget is invalid. It must be "+
				"between 15 minutes and 120 minutes (inclusive), in ISO 8601 format.")
		}
		return nil
	}),
	text("notice of OS images", imageNotice, func(v string) *reply.Error {
		if v != "PT15M" {
			return reply.InvalidParameter("osImageNotificationProfile.notBeforeTimeout", "The value of parameter "+
				"osImageNotificationProfile.notBeforeTimeout is invalid. It must be 15 minutes (PT15M).")
		}
		return nil
	}),
	{"spot in a set", func(r Request) *reply.Error {
		if p := doc.Of(r.Body, "properties"); spot(p) && doc.Has(p, "availabilitySet") {
			return reply.New(http.StatusConflict, "OperationNotAllowed",
				"Azure Spot Virtual Machine is not supported in Availability Set.") // [V CAPZ #4432]
		}
		return nil
	}},
}

const longestUnattend = 4096

var (
	imageNotice = in("scheduledEventsProfile", "osImageNotificationProfile", "notBeforeTimeout")
	duration    = regexp.MustCompile(`^PT(?:(\d{1,3})H)?(?:(\d{1,4})M)?$`)
)

// minutes reads a duration of hours and minutes.
func minutes(v string) (int, bool) {
	parts := duration.FindStringSubmatch(v)
	if parts == nil || v == "PT" {
		return 0, false
	}
	h, _ := strconv.Atoi("0" + parts[1])
	m, _ := strconv.Atoi("0" + parts[2])
	return 60*h + m, true
}
