package agent

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// feature installs what is missing, and looks again after a reboot.
func (r *run) feature(step *plan.Feature) error {
	names := texts(step.Features)
	have, err := r.machine.Features(names)
	if err != nil {
		return err
	}
	var unknown, missing []string
	pending := false
	for _, name := range names {
		name, state, _ := windows.Named(have, name)
		switch state {
		case "":
			unknown = append(unknown, name)
		case "Installed":
		case "InstallPending":
			pending = true
		default:
			missing = append(missing, name)
		}
	}
	if len(unknown) > 0 {
		return failf("no such Windows feature: %s", strings.Join(unknown, ", "))
	}
	if len(missing) == 0 {
		if pending {
			r.restart = thenAgain
		}
		return nil
	}
	due, err := r.machine.HasRegistryKey(servicing + rebootPending)
	if err != nil {
		return err
	}
	if due {
		r.restart = thenAgain // Windows installs nothing meanwhile
		return nil
	}
	success, reboot, err := r.machine.InstallFeatures(missing)
	if err != nil {
		return err
	}
	if !success {
		return failf("installing %s failed", strings.Join(missing, ", "))
	}
	if reboot {
		r.restart = thenAgain
	}
	return nil
}

const (
	servicing     = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion`
	rebootPending = `\Component Based Servicing\RebootPending`
)

func (r *run) rebootStep(step *plan.Reboot) error {
	wanted := step.If == plan.RebootAlways
	for _, key := range []string{rebootPending, `\WindowsUpdate\Auto Update\RebootRequired`} {
		there, err := r.machine.HasRegistryKey(servicing + key)
		if err != nil {
			return err
		}
		wanted = wanted || there
	}
	if wanted {
		r.restart = thenNext
	}
	return nil
}

// localUser makes a user with a random password that is not kept; the user logs in by SSH key.
func (r *run) localUser(step *plan.LocalUser) error {
	sid, err := r.machine.LocalUser(step.User)
	if err == nil && sid == "" {
		sid, err = r.machine.AddLocalUser(step.User, password())
	}
	if err != nil {
		return err
	}
	for _, group := range texts(step.Groups) {
		if err := r.machine.AddGroupMember(group, step.User); err != nil && !errors.Is(err, windows.ErrMemberExists) {
			return err
		}
	}
	if len(step.SSHKeys) == 0 {
		return nil
	}
	home, err := r.machine.UserProfile(sid, step.User)
	if err != nil {
		return err
	}
	folder := home + `\.ssh`
	if err := r.protectFolder(folder, windows.AdminOnly+"(A;OICI;FA;;;"+sid+")"); err != nil {
		return err
	}
	keys := strings.Join(texts(step.SSHKeys), "\n") + "\n"
	return r.writeAs(folder+`\authorized_keys`, []byte(keys), windows.AdminOnlyFile+"(A;;FA;;;"+sid+")")
}

// password has 68 characters, of all the classes that a policy may want.
func password() string {
	random := make([]byte, 48)
	_, _ = rand.Read(random) // never fails
	return "aA1!" + base64.StdEncoding.EncodeToString(random)
}

func (r *run) defenderExclusions(step *plan.DefenderExclusions) error {
	have, err := r.machine.DefenderExclusions()
	if err != nil {
		return err
	}
	folders, processes := missing(texts(step.Folders), have.Paths), missing(texts(step.Processes), have.Processes)
	if len(folders)+len(processes) == 0 {
		return nil
	}
	return r.machine.ExcludeFromDefender(folders, processes)
}

func missing(wanted, have []string) []string {
	return slices.DeleteFunc(wanted, func(one string) bool {
		return slices.ContainsFunc(have, same(one))
	})
}
