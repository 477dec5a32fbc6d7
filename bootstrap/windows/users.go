package windows

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// The groups that Windows brings, by SID, for their names are translated.
const (
	administratorsSID = "S-1-5-32-544"
	usersSID          = "S-1-5-32-545"
)

var (
	userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,19}$`)
	// builtInUsers are Windows' own and cloudbase-init's service.
	builtInUsers = []string{"administrator", "guest", "defaultaccount", "wdagutilityaccount", "system", "cloudbase-init"}
	sshKey       = regexp.MustCompile(`^(ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) ([A-Za-z0-9+/]+={0,2})( [\x20-\x7e]*)?$`)
)

// users are accounts of the machine.
type users []user

type user struct {
	name, group string
	keys        []string
}

func readUsers(in Input) (setting, error) {
	var all users
	seen := map[string]bool{}
	for i, wanted := range in.Spec.Users {
		field := fmt.Sprintf("%s.users[%d]", windowsField, i)
		lower := strings.ToLower(wanted.Name)
		switch {
		case !userName.MatchString(wanted.Name):
			return nil, step.Invalid(field, "name %q is none that Windows takes; write letters, digits, dashes and underscores, 20 at most", wanted.Name)
		case slices.Contains(builtInUsers, lower) || lower == in.NodeName:
			return nil, step.Invalid(field, "the name %q is taken by Windows itself; write another one", wanted.Name)
		case seen[lower]:
			return nil, step.Invalid(field, "the name %q is there twice; leave one out", wanted.Name)
		}
		seen[lower] = true
		group, err := groupOf(field, wanted.Role)
		if err != nil {
			return nil, err
		}
		if err := checkKeys(field, wanted.SSHKeys); err != nil {
			return nil, err
		}
		all = append(all, user{wanted.Name, group, wanted.SSHKeys})
	}
	return all, nil
}

func (u users) addTo(p *step.Part) {
	for _, one := range u {
		p.Add(step.PhaseWindows, &plan.LocalUser{
			Common: plan.Common{Name: "user-" + strings.ReplaceAll(one.name, "_", "."), Reason: step.ReasonUserFailed, Attempts: 2},
			User:   one.name, Groups: plan.Texts(one.group), SSHKeys: plan.Texts(one.keys...),
		})
	}
}

func groupOf(field string, role bootstrapv1.UserRole) (string, error) {
	switch role {
	case bootstrapv1.UserRoleAdministrator:
		return administratorsSID, nil
	case bootstrapv1.UserRoleUser, "":
		return usersSID, nil
	}
	return "", step.Invalid(field, "role %q is none; write Administrator or User", role)
}

// checkKeys does not show what is no key: it may be a private one.
func checkKeys(field string, keys []string) error {
	if len(keys) == 0 {
		return step.Invalid(field, "sshKeys is empty, and without a key nobody gets in; write one")
	}
	for i, key := range keys {
		parts := sshKey.FindStringSubmatch(key)
		if parts == nil {
			return step.Invalid(field, "sshKeys[%d] is no public key; write one line such as ssh-ed25519 AAAA... name", i)
		}
		// The blob begins with the length and name of its type.
		blob, err := base64.StdEncoding.DecodeString(parts[2])
		if err != nil || len(blob) < 4+len(parts[1]) || string(blob[4:4+len(parts[1])]) != parts[1] {
			return step.Invalid(field, "sshKeys[%d] is cut off or damaged; copy the whole line of the .pub file", i)
		}
	}
	return nil
}
