package guest

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// cloudConfigOrder is that of cloudbase-init's own table (cloudconfigplugins/factory.py), whatever the document's is.
var cloudConfigOrder = []string{
	"write_files", "set_timezone", "timezone", "set_hostname", "hostname", "ntp", "groups", "users", "runcmd",
}

// errAgain asks for a reboot, after which the user data run again (execcmd.py: 1003).
var errAgain = errors.New("runs again after a reboot")

// cloudConfig is userdataplugins/cloudconfig.py: one plugin after the other, and a plugin that fails is a line in the log.
func (p *power) cloudConfig(ctx context.Context, data []byte) error {
	var document map[string]any
	if err := yaml.Unmarshal(data, &document); err != nil {
		return err // no YAML, or a list: Python raises
	}
	if len(document) == 0 {
		p.logInit("ERROR", "Could not process part type: Empty yaml stream provided.")
		return nil
	}
	for _, name := range cloudConfigOrder {
		value, ok := document[name]
		if !ok {
			continue
		}
		err := p.cloudConfigPlugin(ctx, name, value)
		if errors.Is(err, errAgain) { // it is the last one of the table
			p.machine.AskReboot()
			return err
		}
		if err != nil {
			p.logInit("ERROR", "Processing plugin %s failed: %v", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(document)) {
		if !slices.Contains(cloudConfigOrder, name) {
			p.logInit("ERROR", "Plugin '%s' is currently not supported", name)
		}
	}
	return nil
}

func (p *power) cloudConfigPlugin(ctx context.Context, name string, value any) error {
	switch name {
	case "write_files":
		return p.writeFiles(value)
	case "runcmd":
		return p.runcmd(ctx, value)
	}
	p.logInit("ERROR", "the lab does not play %s of a cloud-config", name)
	return nil
}

// writeFiles is write_files.py: the first item that fails ends it.
func (p *power) writeFiles(value any) error {
	items, ok := value.([]any)
	if one, isOne := value.(map[string]any); isOne {
		items, ok = []any{one}, true
	}
	if !ok {
		return fmt.Errorf("can't process the type of data %T", value)
	}
	for _, item := range items {
		if err := p.writeItem(item); err != nil {
			return err
		}
	}
	return nil
}

func (p *power) writeItem(value any) error {
	item, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("a file is a mapping, not %T", value)
	}
	path, hasPath := item["path"].(string)
	if _, hasContent := item["content"]; !hasPath || !hasContent {
		p.logInit("WARNING", "Missing required keys from file information")
		return nil
	}
	content, ok := item["content"].(string)
	if !ok {
		return fmt.Errorf("%T object has no attribute 'encode'", item["content"])
	}
	encoding, _ := item["encoding"].(string) // Python raises for a number; none of ours is one
	data, err := p.decodeContent([]byte(content), encoding)
	if err != nil {
		return err
	}
	p.checkPermissions(item["permissions"])
	if item["append"] == true {
		return p.machine.Append(path, data)
	}
	return p.machine.Put(path, data)
}

// checkPermissions: on Windows they only say whether a file is read-only, which the lab's files never are.
func (p *power) checkPermissions(value any) {
	switch value := value.(type) {
	case float64:
		return
	case string:
		if _, err := strconv.ParseInt(strings.TrimPrefix(value, "0o"), 8, 64); err == nil {
			return
		}
	}
	p.logInit("WARNING", "Fail to process permissions %v, assuming 420", value)
}

// contentSteps are the names of encodings, each with what is undone, in order.
var contentSteps = map[string][]string{
	"gz": {"gzip"}, "gzip": {"gzip"}, "b64": {"base64"}, "base64": {"base64"},
	"gz+base64": {"base64", "gzip"}, "gzip+base64": {"base64", "gzip"}, "gz+b64": {"base64", "gzip"}, "gzip+b64": {"base64", "gzip"},
}

// decodeContent leaves what is no base64, or has no head of gzip, as it is; gzip that is damaged further on raises.
func (p *power) decodeContent(data []byte, encoding string) ([]byte, error) {
	if encoding == "" {
		return data, nil
	}
	steps, ok := contentSteps[strings.TrimSpace(strings.ToLower(encoding))]
	if !ok {
		p.logInit("WARNING", "Unknown encoding, assuming plain text.")
		return data, nil
	}
	for _, step := range steps {
		undo := lenientBase64
		if step == "gzip" {
			undo = gunzip
		}
		undone, err := undo(data)
		switch {
		case err == nil:
			data = undone
		case step == "gzip" && (errors.Is(err, io.ErrUnexpectedEOF) || isCorrupt(err)):
			return nil, err // EOFError and zlib.error are not among what it catches
		default:
			does := map[string]string{"gzip": "decompress gzip", "base64": "decode base64"}
			p.logInit("ERROR", "Fail to %s content: %v", does[step], err)
		}
	}
	return data, nil
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[flate.CorruptInputError](err)
	return ok
}

// runcmd is runcmd.py: all entries become one batch file, which cmd.exe runs.
func (p *power) runcmd(ctx context.Context, value any) error {
	entries, ok := value.([]any)
	if isFalse(value) || ok && len(entries) == 0 {
		p.logInit("INFO", "No cloud-config runcmd entries found.")
		return nil
	}
	p.logInit("INFO", "Running cloud-config runcmd entries.")
	if !ok {
		p.logInit("ERROR", "the lab does not play a runcmd that is %T", value) // Python takes a text for a list of letters
		return nil
	}
	batch, err := unify(entries)
	if err != nil {
		p.logInit("WARNING", "An error occurred during runcmd execution: '%v'", err)
		return nil
	}
	p.logInit("INFO", "Found %d cloud-config runcmd entries.", len(entries))
	// Of the codes that mean something the odd ones ask for a reboot, and that is all that is left of them.
	if code := p.batchFile(ctx, batch); code == 1001 || code == 1003 {
		return errAgain
	}
	return nil
}

// unify joins the parts of an entry by blanks, with no quotes, and the entries by Windows' line ends.
func unify(entries []any) ([]byte, error) {
	batch := bytes.NewBufferString("rem cmd\r\n")
	for _, entry := range entries {
		switch entry := entry.(type) {
		case string:
			batch.WriteString(entry)
		case []any:
			for i, part := range entry {
				if i > 0 {
					batch.WriteByte(' ')
				}
				fmt.Fprint(batch, part)
			}
		default:
			return nil, fmt.Errorf("unrecognized type %T in cmd content", entry)
		}
		batch.WriteString("\r\n")
	}
	return batch.Bytes(), nil
}

// batchFile is execcmd.py's Shell: a file for a moment, its output in the log.
func (p *power) batchFile(ctx context.Context, text []byte) (code int) {
	const file = `C:\Windows\Temp\cloudbase-init.cmd` // a UUID on a real machine
	if err := p.machine.Put(file, text); err != nil {
		p.logInit("WARNING", "An error occurred during user_data execution: '%v'", err)
		return 0
	}
	var stdout, stderr bytes.Buffer
	call := &windows.Call{Machine: p.machine, Argv: []string{"cmd.exe", "/c", file}, Stdout: &stdout, Stderr: &stderr}
	program, err := p.machine.Find(call)
	if err != nil {
		p.logInit("WARNING", "An error occurred during user_data execution: '%v'", err)
		return 0
	}
	code = program(ctx, call)
	if err := p.machine.Discard(file); err != nil {
		p.logInit("DEBUG", "%v", err) // safe_remove of the real one says nothing
	}
	p.logInit("DEBUG", "User_data stdout:\n%s", pythonBytes(stdout.Bytes()))
	p.logInit("DEBUG", "User_data stderr:\n%s", pythonBytes(stderr.Bytes()))
	p.logInit("INFO", "User_data script ended with return code: %d", code)
	return code
}

// pythonBytes is how Python prints bytes, for the texts that programs here print.
func pythonBytes(text []byte) string {
	quoted := strings.NewReplacer(`\`, `\\`, "\r", `\r`, "\n", `\n`).Replace(string(text))
	if strings.Contains(quoted, "'") && !strings.Contains(quoted, `"`) {
		return `b"` + quoted + `"`
	}
	return "b'" + strings.ReplaceAll(quoted, "'", `\'`) + "'"
}
