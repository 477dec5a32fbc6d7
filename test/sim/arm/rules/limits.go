package rules

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Limits of the public reference [D].
const (
	longestData                         = 87380 // base64 characters of customData and userData: 65,535 bytes
	longestComputerName                 = 15
	longestAdminName                    = 20
	shortestPassword, longestPassword   = 8, 123
	mostTags, longestTag, longestTagged = 50, 512, 256
	mostLUN                             = 63
	largestOSDisk, largestDataDisk      = 4095, 65536
)

// limits are rules of one member.
var limits = []Rule{
	text("customData", inOS("customData"), func(v string) *reply.Error {
		if !isData(v) {
			return reply.InvalidParameter("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length "+
				"of %d "+
				"characters.", longestData)
		}
		return nil
	}),
	text("userData", in("userData"), func(v string) *reply.Error {
		if !isData(v) {
			return reply.InvalidParameter("userData", "UserData must be in Base64 encoding and with a maximum length of %d characters.",
				longestData)
		}
		return nil
	}),
	text("computerName", inOS("computerName"), func(v string) *reply.Error {
		if len(v) > longestComputerName || allDigits.MatchString(v) || strings.ContainsAny(v, "`~!@#$%^&*()=+_[]{}\\|;:.'\",<>/? ") {
			return reply.InvalidParameter("computerName", "Windows computer name cannot be more than 15 characters long, be entirely "+
				"numeric, or "+
				"contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : . ' \" , < > / ?.")
		}
		return nil
	}),
	text("adminUsername", inOS("adminUsername"), func(v string) *reply.Error {
		if len(v) > longestAdminName || strings.HasSuffix(v, ".") || strings.ContainsAny(v, "\\/\"[]:|<>+=;,?*@&") {
			return reply.InvalidParameter("adminUsername", "Windows admin user name cannot be more than 20 characters long, end with a "+
				"period(.), "+
				"or contain the following characters: \\ / \" [ ] : | < > + = ; , ? * @ &.")
		}
		return nil
	}),
	text("adminUsername that is kept", inOS("adminUsername"), func(v string) *reply.Error {
		if slices.Contains(keptNames, strings.ToLower(v)) {
			return reply.InvalidParameter("adminUsername", "The Admin Username specified is not allowed.")
		}
		return nil
	}),
	text("adminPassword", inOS("adminPassword"), password),
	text("adminPassword that is known", inOS("adminPassword"), func(v string) *reply.Error {
		if slices.Contains(knownPasswords, v) {
			return reply.InvalidParameter("adminPassword", "The Admin password specified is not allowed.")
		}
		return nil
	}),
	text("licenseType", in("licenseType"), func(v string) *reply.Error {
		if !slices.Contains([]string{"Windows_Client", "Windows_Server", "None"}, v) {
			return reply.InvalidParameter("licenseType",
				"The license type %s is invalid. Valid license types are: Windows_Client or Windows_Server, case sensitive.", v)
		}
		return nil
	}),
	text("timeZone", inOS("windowsConfiguration", "timeZone"), func(v string) *reply.Error {
		if strings.Contains(v, "/") || !zoneName.MatchString(v) { // Windows' names have no slash: "W. Europe Standard Time", "UTC-11"
			return reply.InvalidParameter("windowsConfiguration.timeZone", "The value of parameter windowsConfiguration.timeZone is "+
				"invalid.")
		}
		return nil
	}),
	text("notBeforeTimeout", terminateNotice, func(v string) *reply.Error {
		if !slices.Contains([]string{"PT5M", "PT6M", "PT7M", "PT8M", "PT9M", "PT10M", "PT11M", "PT12M", "PT13M", "PT14M", "PT15M"}, v) {
			return reply.InvalidParameter("terminateNotificationProfile.notBeforeTimeout",
				"The value of parameter terminateNotificationProfile.notBeforeTimeout is invalid. It must be between PT5M and PT15M.")
		}
		return nil
	}),
	text("storageUri", in("diagnosticsProfile", "bootDiagnostics", "storageUri"), func(v string) *reply.Error {
		if !strings.HasPrefix(v, "https://") {
			return reply.InvalidParameter("storageUri", "The URI %s does not look to be correct blob URI.", v)
		}
		return nil
	}),
	{"osDisk.diskSizeGB", func(r Request) *reply.Error {
		return sized("osDisk.diskSizeGB", doc.Of(r.Body, "properties", "storageProfile", "osDisk"), largestOSDisk)
	}},
	{"dataDisks.diskSizeGB", eachDisk(func(d doc.Object) *reply.Error { return sized("dataDisk.diskSizeGB", d, largestDataDisk) })},
	{"dataDisks.lun", eachDisk(func(d doc.Object) *reply.Error {
		if lun := doc.Number(d, "lun"); lun < 0 || lun > mostLUN {
			return reply.InvalidParameter("dataDisk.lun", "The value '%d' of parameter 'dataDisk.lun' is out of range. The value must "+
				"be between 0 "+
				"and 63, inclusive.", lun)
		}
		return nil
	})},
	{"maxPrice", func(r Request) *reply.Error {
		price, sent := doc.Get(r.Body, "properties", "billingProfile", "maxPrice").(float64)
		if sent && price != -1 && price <= 0 {
			return reply.InvalidParameter("billingProfile.maxPrice", "Max price must be either -1 or greater than 0.")
		}
		return nil
	}},
}

var (
	terminateNotice = in("scheduledEventsProfile", "terminateNotificationProfile", "notBeforeTimeout")

	allDigits = regexp.MustCompile(`^\d+$`)
	zoneName  = regexp.MustCompile(`^(UTC|.+ Time( \(Mexico\))?|UTC[+-]\d\d)$`)

	// keptNames and knownPasswords are those of the reference [D].
	keptNames = strings.Fields("administrator admin user user1 test user2 test1 user3 admin1 1 123 a actuser adm admin2 aspnet " +
		"backup console david guest john owner root server sql support support_388945a0 sys test2 test3 user4 user5")
	knownPasswords = []string{
		"abc@123", "P@$$w0rd", "P@ssw0rd", "P@ssword123", "Pa$$word", "pass@word1", "Password!", "Password1",
		"Password22", "iloveyou!",
	}
)

func password(v string) *reply.Error {
	kinds := 0
	for _, kind := range []string{`[a-z]`, `[A-Z]`, `\d`, `[\W_]`} {
		if regexp.MustCompile(kind).MatchString(v) {
			kinds++
		}
	}
	if len(v) < shortestPassword || len(v) > longestPassword || kinds < 3 {
		return reply.InvalidParameter("adminPassword", "The supplied password must be between %d-%d characters long and must satisfy "+
			"at least 3 "+
			"of password complexity requirements from the following:\r\n1) Contains an uppercase character\r\n2) Contains a lowercase "+
			"character\r\n3) Contains a numeric digit\r\n4) Contains a special character\r\n5) Control characters are not allowed",
			shortestPassword, longestPassword)
	}
	return nil
}

func isData(v string) bool {
	_, err := base64.StdEncoding.DecodeString(v)
	return err == nil && len(v) <= longestData
}

func sized(name string, disk doc.Object, largest int) *reply.Error {
	if !doc.Has(disk, "diskSizeGB") {
		return nil
	}
	if gb := doc.Number(disk, "diskSizeGB"); gb < 1 || gb > largest {
		return reply.InvalidParameter(name, "The value '%d' of parameter '%s' is out of range. The value must be between '1' and "+
			"'%d', inclusive.",
			gb, name, largest)
	}
	return nil
}

func in(path ...string) []string   { return append([]string{"properties"}, path...) }
func inOS(path ...string) []string { return append([]string{"properties", "osProfile"}, path...) }

// text is a rule of a text, if it is there.
func text(name string, path []string, check func(string) *reply.Error) Rule {
	return Rule{Name: name, Check: func(r Request) *reply.Error {
		if v := doc.Text(r.Body, path...); v != "" {
			return check(v)
		}
		return nil
	}}
}

func eachDisk(check func(doc.Object) *reply.Error) func(Request) *reply.Error {
	return func(r Request) *reply.Error {
		for _, d := range doc.List(r.Body, "properties", "storageProfile", "dataDisks") {
			if refused := check(d); refused != nil {
				return refused
			}
		}
		return nil
	}
}
