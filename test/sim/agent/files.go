package agent

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

func (r *run) file(step *plan.File) error {
	content := step.Content
	if step.Text != nil {
		content = []byte(step.Text.String())
	}
	return r.writeOnce(step.Path.String(), content, step.Access)
}

func (r *run) writeOnce(path string, content []byte, access plan.FileAccess) error {
	sddl, err := fileAccess(access)
	if err != nil {
		return err
	}
	return r.writeAs(path, content, sddl)
}

// writeAs leaves a file with the same content and access alone, and makes any other anew.
func (r *run) writeAs(path string, content []byte, sddl string) error {
	same, err := r.isSame(path, content, sddl)
	if err != nil || same {
		return err
	}
	if sddl != "" {
		if err := r.noLink(parent(path)); err != nil {
			return err
		}
	}
	return r.machine.WriteFile(path, content, sddl)
}

func (r *run) isSame(path string, content []byte, sddl string) (bool, error) {
	have, err := r.machine.ReadFile(path)
	if err != nil || !bytes.Equal(have, content) || sddl == "" {
		return err == nil && bytes.Equal(have, content), nil
	}
	access, err := r.machine.Access(path)
	return access == sddl, err
}

func fileAccess(access plan.FileAccess) (string, error) {
	switch access {
	case plan.FileAdmin:
		return windows.AdminOnlyFile, nil
	case "", plan.FileInherit:
		return "", nil
	}
	return "", fmt.Errorf("access '%s' is unknown", access)
}

var folderAccess = map[plan.Access]string{plan.AccessAdmin: windows.AdminOnly, plan.AccessGuarded: windows.Guarded}

func (r *run) directory(step *plan.Directory) error {
	path, sddl := step.Path.String(), folderAccess[step.Access]
	if sddl == "" {
		return r.machine.MakeDirectory(path)
	}
	if err := r.protectFolder(path, sddl); err != nil || !step.Whole {
		return err
	}
	return r.resetContent(path)
}

// protectFolder looks for links before and after: none may have come meanwhile.
func (r *run) protectFolder(path, sddl string) error {
	if err := r.noLink(path); err != nil {
		return err
	}
	if err := r.machine.MakeAbove(path); err != nil {
		return err
	}
	if err := r.machine.MakeOwnDirectory(path, sddl); err != nil {
		return err
	}
	if err := r.machine.Protect(path, sddl); err != nil {
		return err
	}
	return r.noLink(path)
}

// noLink refuses a link among the folders of a path: it leads what is written to a place that another has chosen.
func (r *run) noLink(path string) error {
	for at := path; strings.ContainsRune(at, '\\'); at = parent(at) {
		if r.machine.IsLink(at) {
			return failf("a link is in the way: %s; make it a folder", windows.Base(at))
		}
	}
	return nil
}

// resetContent gives to administrators what an image, or a user who was here first, has left in a folder. Links go.
func (r *run) resetContent(folder string) error {
	entries, err := r.machine.Match(folder + `\*`)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if r.machine.IsLink(entry) {
			if err := r.machine.Remove(entry); err != nil {
				return err
			}
			continue
		}
		if err := r.machine.Protect(entry, windows.Inherited); err != nil {
			return err
		}
		if err := r.resetContent(entry); err != nil {
			return err
		}
	}
	return nil
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '\\')] }

func (r *run) remove(step *plan.Remove) error {
	matched, err := r.match(step.Patterns)
	if err != nil {
		return err
	}
	for _, path := range append(texts(step.Paths), matched...) {
		if err := r.machine.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// reservations writes the file whose content depends on the size of the machine.
func (r *run) reservations(step *plan.Reservations) error {
	for _, rule := range step.Rules {
		found, err := r.resolve(plan.FromFact(rule.Fact))
		if err != nil {
			return err
		}
		row := firstRow(rule.Rows, found)
		if row == nil {
			return failf("no row of '%s' fits %s = %s", rule.Set, rule.Fact, found)
		}
		value, err := r.resolveTree(row.Value)
		if err != nil {
			return err
		}
		if err := set(step.Patch, strings.Split(rule.Set, "."), value); err != nil {
			return err
		}
	}
	text, err := windows.PlainJSON(step.Patch)
	if err != nil {
		return err
	}
	return r.writeOnce(step.Path.String(), []byte(text), step.Access)
}

func firstRow(rows []plan.ReservationRow, found string) *plan.ReservationRow {
	for i, row := range rows {
		if row.Below == "" || compareVersions(found, row.Below) < 0 {
			return &rows[i]
		}
	}
	return nil
}

func set(node map[string]any, keys []string, value any) error {
	for _, key := range keys[:len(keys)-1] {
		if node[key] == nil {
			node[key] = map[string]any{}
		}
		next, ok := node[key].(map[string]any)
		if !ok {
			return fmt.Errorf("'%s' is not an object in which '%s' could be set", key, strings.Join(keys, "."))
		}
		node = next
	}
	node[keys[len(keys)-1]] = value
	return nil
}

const mebibyte = 1 << 20

// collectLogs packs the newest part of each text log and event log into one zip, with the secrets hidden.
func (r *run) collectLogs(ctx context.Context, step *plan.CollectLogs) error {
	if err := r.machine.MakeAbove(step.Path.String()); err != nil {
		return err
	}
	paths, err := r.match(step.Patterns)
	if err != nil {
		return err
	}
	isZip := same(step.Path.String())
	paths = slices.DeleteFunc(paths, func(path string) bool { return isZip(path) || windows.Like(path, "*.capwin-new") })
	var packed bytes.Buffer
	logs := &logZip{run: r, zip: zip.NewWriter(&packed), left: orElse(step.MaxMiB, 10) * mebibyte}
	for _, event := range step.Events {
		found, err := r.program(ctx, []string{"wevtutil.exe", "qe", event, "/c:500", "/rd:true", "/f:text"}, 60, nil, "")
		if err != nil {
			return err
		}
		if err := logs.add("events/"+notInName.ReplaceAllString(event, "-")+".txt", found.Text()); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if !r.machine.FileExists(path) {
			continue
		}
		content, err := r.machine.ReadFile(path)
		if err != nil {
			r.warn("logs: " + err.Error())
			continue
		}
		entry := strings.TrimLeft(strings.ReplaceAll(path[2:], `\`, "/"), "/")
		// .NET reads a text without its mark, and with U+FFFD for what is no text.
		text := string([]rune(string(content[max(0, len(content)-2*mebibyte):])))
		if err := logs.add(entry, strings.TrimPrefix(text, "\ufeff")); err != nil {
			return err
		}
	}
	if err := logs.zip.Close(); err != nil {
		return err
	}
	return r.machine.Keep(step.Path.String(), packed.Bytes())
}

// logZip takes texts as long as there is room.
type logZip struct {
	run  *run
	zip  *zip.Writer
	left int
}

func (l *logZip) add(name, text string) error {
	clean := strings.Join(l.run.safeLines(text), "\n")
	if len(clean) > l.left {
		return nil
	}
	l.left -= len(clean)
	entry, err := l.zip.Create(name)
	if err != nil {
		return err
	}
	_, err = entry.Write([]byte(clean))
	return err
}

// registry sets a value of the wanted type.
func (r *run) registry(step *plan.Registry) error {
	value, err := r.registryValue(step)
	if err != nil {
		return err
	}
	return r.setOnce(step.Key, step.ValueName, value)
}

func (r *run) registryValue(step *plan.Registry) (value windows.RegistryValue, err error) {
	value.Type = string(step.Type)
	switch step.Type {
	case "", plan.RegistryString:
		value.Type = string(plan.RegistryString)
		value.Text = step.Value.String()
	case plan.RegistryExpandString:
		value.Text = step.Value.String()
	case plan.RegistryDWord:
		value.Number, err = number(step.Value, 32)
	case plan.RegistryQWord:
		value.Number, err = number(step.Value, 64)
	case plan.RegistryMultiString:
		value.List = texts(step.Values)
	default:
		err = errors.New("registry type '" + value.Type + "' is unknown")
	}
	return value, err
}

func (r *run) setOnce(key, name string, value windows.RegistryValue) error {
	have, ok, err := r.machine.ReadRegistry(key, name)
	if err != nil || ok && have.Equal(value) {
		return err
	}
	return r.machine.WriteRegistry(key, name, value)
}
