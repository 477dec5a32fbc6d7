package twins

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Outcome is what became of a machine, as a tree: died, effects, report, state, plan, files, access, zips, console, started, log.
type Outcome tree

const root = `C:\ProgramData\capwin\`

// own are the files of the agent that have places of their own in an outcome.
var own = map[string]string{
	root + "report.json": "report", root + "state.json": "state", root + "plan.json": "plan", root + "object.json": "object",
}

// apart are files that one of the two machines has by itself. What a program has written is scripted; how it is kept, the
// suites of either side look at.
var apart = []string{root + "agent.lock", root + "temp", root + "logs", `C:\Windows`, `C:\serial`, `C:\Users\`}

// readDisk adds what is on the disk of a machine, which lies in folder.
func (o Outcome) readDisk(folder string) error {
	files, zips, folders := tree{}, tree{}, []any{}
	o["log"] = []any{}
	err := filepath.WalkDir(folder, func(host string, entry fs.DirEntry, err error) error {
		if err != nil || host == folder {
			return err
		}
		path := `C:\` + strings.ReplaceAll(strings.TrimPrefix(host, folder+"/"), "/", `\`)
		if isApart(path) {
			return nil
		}
		if entry.IsDir() {
			folders = append(folders, path)
			return nil
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			files[path] = aLink
			return nil
		}
		return o.readFile(path, host, files, zips)
	})
	o["files"], o["zips"], o["folders"] = files, zips, folders
	if kept, ok := o["plan"].(tree); ok {
		maps.DeleteFunc(kept, func(_ string, value any) bool {
			list, isList := value.([]any)
			return value == nil || isList && len(list) == 0 // null and an empty list are as good as none
		})
	}
	return err
}

const aLink = "a link"

func (o Outcome) readFile(path, host string, files, zips tree) error {
	content, err := os.ReadFile(host)
	if err != nil {
		return err
	}
	switch {
	case own[path] != "":
		o[own[path]] = jsonOrText(content)
	case path == root+"agent.log":
		o["log"] = lines(content)
	case strings.HasSuffix(path, ".zip"):
		zips[path] = unzip(content)
	default:
		files[path] = text(content)
	}
	return nil
}

func isApart(path string) bool {
	for _, prefix := range apart {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func unzip(content []byte) any {
	packed, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return "not a zip: " + err.Error()
	}
	entries := tree{}
	for _, file := range packed.File {
		stream, err := file.Open()
		if err != nil {
			return err.Error()
		}
		unpacked, err := io.ReadAll(stream)
		_ = stream.Close()
		if err != nil {
			return err.Error()
		}
		entries[file.Name] = text(unpacked)
	}
	return entries
}

var (
	stamp = regexp.MustCompile(`\d{8}T\d{6}Z`)
	// durations is what a report in a line of a log tells, in the order of a table of the script.
	durations = regexp.MustCompile(`"durations":\{[^{}]*\}`)
)

// timeless is a text without the time of the day, which is real on one side, and with its durations in order.
func timeless(text string) string {
	text = durations.ReplaceAllStringFunc(text, func(all string) string {
		inside := strings.Split(strings.TrimSuffix(strings.TrimPrefix(all, `"durations":{`), "}"), ",")
		slices.Sort(inside)
		return `"durations":{` + strings.Join(inside, ",") + "}"
	})
	return stamp.ReplaceAllString(text, "NOW")
}

// text is a file's content.
func text(content []byte) string {
	if !utf8.Valid(content) {
		return "bytes " + hex.EncodeToString(content)
	}
	return timeless(string(content))
}

func jsonOrText(content []byte) any {
	node, err := decode([]byte(text(content)))
	if err != nil {
		return text(content)
	}
	return node
}

// effects are lines, and a value in them may have several. What is at their end, one of the two machines leaves out.
func effects(all []string) []any {
	made := []any{}
	for _, one := range all {
		for line := range strings.SplitSeq(timeless(one), "\n") {
			if line = strings.TrimRight(line, " "); line != "" {
				made = append(made, line)
			}
		}
	}
	sortRemovals(made)
	return made
}

// sortRemovals: NTFS lists what is in a folder by its names, the file system of this host does not.
func sortRemovals(effects []any) {
	removal := func(i int) bool { return i < len(effects) && strings.HasPrefix(effects[i].(string), "remove ") }
	for i := 0; i < len(effects); i++ {
		end := i
		for removal(end) {
			end++
		}
		slices.SortFunc(effects[i:end], func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		i = end
	}
}

func lines(content []byte) []any {
	all := []any{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text(content), "\r\n"), "\r\n") {
		all = append(all, strings.TrimPrefix(line, "NOW "))
	}
	return all
}

// String shows an outcome to people.
func (o Outcome) String() string {
	var all strings.Builder
	for name := range sortedKeys(tree(o)) {
		_, _ = fmt.Fprintf(&all, "%s: %s\n", name, encode(o[name]))
	}
	return all.String()
}
