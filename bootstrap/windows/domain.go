package windows

import (
	_ "embed" // for the script
	"encoding/json"
	"fmt"
	"regexp"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	domainScriptFile = step.OwnDirectory + `\domain-join.ps1`
	domainFile       = step.OwnDirectory + `\domain-join.json`
)

// domainScript is the same for all machines; what it joins is in a file beside it that only administrators can read.
//
//go:embed domainjoin.ps1
var domainScript string

// domainMember is what domainScript reads.
type domainMember struct {
	Domain             string `json:"domain"`
	OrganizationalUnit string `json:"organizationalUnit"`
	Username           string `json:"username"`
	Password           string `json:"password"`
}

// unitName is the name of a unit. A comma in it stands behind a backslash, and its last character is not a blank.
const unitName = `([^\x00-\x1f,\\]|\\[^\x00-\x1f])*[^\x00-\x1f,\\ ]`

var (
	domainName         = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$`)
	organizationalUnit = regexp.MustCompile(
		`(?i)^(OU|CN)=` + unitName + `(,(OU|CN)=` + unitName + `)*(,DC=[a-z0-9_-]+)+$`)
)

// domain is the file that domainScript reads; empty if the machine joins no domain.
type domain struct {
	text   []byte
	redact []string
}

func readDomain(in Input) (setting, error) {
	if in.Spec.Domain == (bootstrapv1.Domain{}) {
		return domain{}, nil
	}
	member, err := readMember(in.Spec.Domain, in.Sources)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(member) //nolint:gosec // because the file is for administrators only and removed at once
	if err != nil {
		return nil, fmt.Errorf("domain of %s: %w", in.NodeName, err)
	}
	return domain{text, step.SecretText(member.Password)}, nil
}

func readMember(wanted bootstrapv1.Domain, sources step.Contents) (domainMember, error) {
	const field = windowsField + ".domain"
	member := domainMember{Domain: wanted.Name, OrganizationalUnit: wanted.OrganizationalUnit}
	if !domainName.MatchString(wanted.Name) {
		return member, step.Invalid(field+".name",
			"%q is not the DNS name of a domain; use one, such as corp.example.com", wanted.Name)
	}
	if wanted.OrganizationalUnit != "" && !organizationalUnit.MatchString(wanted.OrganizationalUnit) {
		return member, step.Invalid(field+".organizationalUnit",
			"%q is not valid; use one such as OU=Nodes,DC=corp,DC=example,DC=com", wanted.OrganizationalUnit)
	}
	if wanted.CredentialsRef.Name == "" {
		return member, step.Invalid(field+".credentialsRef", "must be set; name a Secret with the keys username and password")
	}
	var err error
	member.Username, member.Password, err = sources.Credentials(field+".credentialsRef", wanted.CredentialsRef.Name)
	return member, err
}

// addTo makes the machine a member of the domain, which is all that gMSA needs. The computer has its final name
// already, because members are not renamed.
func (d domain) addTo(p *step.Part) {
	if len(d.text) == 0 {
		return
	}
	pause := 15
	member := step.PrivateFile("domain", step.ReasonDomainJoinFailed, domainFile, d.text)
	member.Secret = true
	p.Add(step.PhaseWindows, member,
		step.PrivateFile("domain-script", step.ReasonDomainJoinFailed, domainScriptFile, []byte(scripts.Bare(domainScript))),
		step.Script(plan.Common{
			Name: "domain-join", Reason: step.ReasonDomainJoinFailed, TimeoutSeconds: 300, Attempts: 3, DelaySeconds: &pause,
		}, domainScriptFile, plan.Program{RebootExitCodes: []int{step.ExitReboot}}),
		&plan.Remove{Common: plan.Common{Name: "domain-forgotten", Reason: step.ReasonDomainJoinFailed}, Paths: plan.Texts(domainFile)})
	p.Erase = append(p.Erase, plan.Texts(domainFile)...)
	p.Redact = append(p.Redact, d.redact...)
}
