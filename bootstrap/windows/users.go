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

// groups are SIDs of built-in groups, whose names are translated.
var groups = map[bootstrapv1.UserRole]string{
	"": "S-1-5-32-545", bootstrapv1.UserRoleUser: "S-1-5-32-545", bootstrapv1.UserRoleAdministrator: "S-1-5-32-544",
}

var (
	userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,19}$`)
	// builtInUsers belong to Windows and to cloudbase-init's service.
	builtInUsers = []string{"administrator", "guest", "defaultaccount", "wdagutilityaccount", "system", "cloudbase-init"}
	// sshKey has the type of a public key, its blob in base64, and a comment.
	sshKey = regexp.MustCompile(`^(ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)|` +
		`sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) ([A-Za-z0-9+/]+={0,2})( [\x20-\x7e]*)?$`)
)

// users are local accounts.
type users []user

type user struct {
	name, group string
	keys        []string
}

func readUsers(in Input) (setting, error) {
	var list users
	seen := map[string]bool{}
	for i, wanted := range in.Spec.Users {
		field := fmt.Sprintf("%s.users[%d]", windowsField, i)
		lower := strings.ToLower(wanted.Name)
		switch {
		case !userName.MatchString(wanted.Name):
			return nil, step.Invalid(field,
				"name %q is not one that Windows accepts; use at most 20 letters, digits, dashes and underscores", wanted.Name)
		case slices.Contains(builtInUsers, lower) || lower == in.NodeName:
			return nil, step.Invalid(field, "name %q belongs to Windows; use another one", wanted.Name)
		case seen[lower]:
			return nil, step.Invalid(field, "name %q is used twice; rename one of the two", wanted.Name)
		}
		seen[lower] = true
		group, ok := groups[wanted.Role]
		if !ok {
			return nil, step.Invalid(field, "role %q is not valid; use Administrator or User", wanted.Role)
		}
		if err := checkKeys(field, wanted.SSHAuthorizedKeys); err != nil {
			return nil, err
		}
		list = append(list, user{wanted.Name, group, wanted.SSHAuthorizedKeys})
	}
	return list, nil
}

// addTo: keys of administrators also go where sshd of Windows looks for them. Its own sshd_config ends with "Match Group
// administrators" and this file (openssh-portable of PowerShell, contrib/win32/openssh/sshd_config); in images without that the
// key in the profile counts. sshd ignores the file if others than SYSTEM and Administrators have access.
func (u users) addTo(p *step.Part) {
	for _, user := range u {
		p.Add(step.PhaseWindows, &plan.LocalUser{
			Common: plan.Common{Name: "user-" + strings.ReplaceAll(user.name, "_", "."), Reason: step.ReasonUserFailed, Attempts: 2},
			User:   user.name, Groups: plan.Texts(user.group), SSHKeys: plan.Texts(user.keys...),
		})
	}
	if keys := u.ofAdministrators(); len(keys) > 0 {
		p.Add(step.PhaseWindows, step.PrivateFile(
			"administrators-keys", step.ReasonUserFailed, administratorsKeys, []byte(strings.Join(keys, "\n")+"\n")))
	}
}

const (
	sshFolder          = `C:\ProgramData\ssh`
	administratorsKeys = sshFolder + `\administrators_authorized_keys`
)

// ofAdministrators are the keys of all of them, each once: sshd does not distinguish administrators.
func (u users) ofAdministrators() []string {
	var keys []string
	for _, user := range u {
		for _, key := range user.keys {
			if user.group == groups[bootstrapv1.UserRoleAdministrator] && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// folders: sshd has more files there that it protects itself, and runs for users, too, who must read there.
func (u users) folders() []step.Folder {
	if len(u.ofAdministrators()) == 0 {
		return nil
	}
	return []step.Folder{{Name: "ssh-folder", Path: sshFolder, Access: plan.AccessGuarded}}
}

// checkKeys does not show a key that is not valid: it may be a private one.
func checkKeys(field string, keys []string) error {
	if len(keys) == 0 {
		return step.Invalid(field, "sshAuthorizedKeys is empty, so the user could not log in; add a public key")
	}
	for i, key := range keys {
		parts := sshKey.FindStringSubmatch(key)
		if parts == nil {
			return step.Invalid(field, "sshAuthorizedKeys[%d] is not a public key; use one line such as ssh-ed25519 AAAA... name", i)
		}
		// The blob begins with the length and the name of its type.
		blob, err := base64.StdEncoding.DecodeString(parts[2])
		if err != nil || len(blob) < 4+len(parts[1]) || string(blob[4:4+len(parts[1])]) != parts[1] {
			return step.Invalid(field, "sshAuthorizedKeys[%d] is cut off or damaged; copy the whole line of the .pub file", i)
		}
	}
	return nil
}
