package bootstrap

import (
	_ "embed" // for the script
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	domainScriptFile = ownDirectory + `\domain-join.ps1`
	domainFile       = ownDirectory + `\domain-join.json`
)

// domainScript is constant; what it joins stands in a file beside it, which only administrators read.
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

var (
	domainName         = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$`)
	organizationalUnit = regexp.MustCompile(`^(OU|CN|ou|cn)=[^\x00-\x1f]+$`)
)

// domain makes the machine a member: gMSA then works without more. Its name is right already, for members are not renamed.
func (p *part) domain(n *node) error {
	wanted := n.spec.Windows.Domain
	if wanted == (bootstrapv1.Domain{}) {
		return nil
	}
	member, err := readDomain(n, wanted)
	if err != nil {
		return err
	}
	text, err := json.Marshal(member) //nolint:gosec // because the file is for administrators only and removed at once
	if err != nil {
		return fmt.Errorf("domain of %s: %w", n.machine.Name, err)
	}
	data := fileStep("domain", ReasonDomainJoinFailed, domainFile, text)
	script := fileStep("domain-script", ReasonDomainJoinFailed, domainScriptFile, []byte(domainScript))
	data.Access, script.Access = plan.AccessAdmin, plan.AccessAdmin
	pause := 15
	p.add(phaseWindows, data, script, &plan.Script{
		Common: plan.Common{
			Name: "domain-join", Reason: ReasonDomainJoinFailed, TimeoutSeconds: 300, Attempts: 3, DelaySeconds: &pause,
		},
		Path:    plan.Text(domainScriptFile),
		Program: plan.Program{RebootExitCodes: []int{exitReboot}},
	}, &plan.Remove{Common: plan.Common{Name: "domain-forgotten", Reason: ReasonDomainJoinFailed}, Paths: plan.Texts(domainFile)})
	p.erase = append(p.erase, plan.Texts(domainFile)...)
	p.redact = append(p.redact, content{bytes: []byte(member.Password), secret: true}.secretText()...)
	return nil
}

func readDomain(n *node, wanted bootstrapv1.Domain) (domainMember, error) {
	const field = windowsField + ".domain"
	member := domainMember{Domain: wanted.Name, OrganizationalUnit: wanted.OrganizationalUnit}
	if !domainName.MatchString(wanted.Name) {
		return member, invalid(field+".name", "%q is no domain; write its DNS name, such as corp.example.com", wanted.Name)
	}
	if wanted.OrganizationalUnit != "" && !organizationalUnit.MatchString(wanted.OrganizationalUnit) {
		return member, invalid(field+".organizationalUnit", "%q is none; write one such as OU=Nodes,DC=corp,DC=example,DC=com", wanted.OrganizationalUnit)
	}
	if wanted.CredentialsRef.Name == "" {
		return member, invalid(field+".credentialsRef", "it is empty; name a Secret with the keys username and password")
	}
	for i, into := range []*string{&member.Username, &member.Password} {
		text, err := n.source(field+".credentialsRef", credentialSources(wanted.CredentialsRef.Name)[i])
		if err != nil {
			return member, err
		}
		*into = strings.TrimRight(string(text), "\r\n")
	}
	return member, nil
}
