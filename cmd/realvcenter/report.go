package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// verdict is how a check ended.
type verdict string

const (
	holds      verdict = "holds"
	doesNot    verdict = "does not hold"
	notChecked verdict = "could not be checked"
)

// report is what can be sent to us. It has no secret, and no name of the operator's vCenter.
type report struct {
	Format  int       `json:"format"`
	Program string    `json:"program"`
	Time    time.Time `json:"at"`
	Run     string    `json:"run"`

	// Server is a digest of its name, which distinguishes reports; empty if that was not wanted. Instance is a digest of the
	// instance UUID, which a later run compares.
	Server   string `json:"server,omitempty"`
	Instance string `json:"instance"`
	// Versions are those of vCenter, host, template and tools.
	Versions map[string]string `json:"versions"`

	Results []result `json:"results"`
	// Left are the VMs that could not be removed, by the names that this run gave them.
	Left        []string `json:"left,omitempty"`
	Interrupted bool     `json:"interrupted,omitempty"`
}

// result of one check.
type result struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Reason  string  `json:"why"`
	Seconds float64 `json:"seconds"`
	// Seen is what the decision was made from.
	Seen map[string]string `json:"seen,omitempty"`
	// Means is what a failure means.
	Means string `json:"means,omitempty"`
}

func digest(text string) string {
	sum := sha256.Sum256([]byte("capwin realvcenter " + text))
	return hex.EncodeToString(sum[:8])
}

func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return cmp.Or(info.Main.Version, "unknown")
}

// cleaner takes what is private out of texts. A password goes however short it is, and a longer text before one that is part of
// it.
func cleaner(private map[string]string) func(string) string {
	const shortest = 3
	var pairs []string
	texts := slices.SortedFunc(maps.Keys(private), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, text := range texts {
		if len(text) >= shortest || text != "" && private[text] == "PASSWORD" {
			pairs = append(pairs, text, "("+private[text]+")")
		}
	}
	words := strings.NewReplacer(pairs...)
	return func(text string) string { return mayBeIP.ReplaceAllStringFunc(words.Replace(text), withoutIP) }
}

var mayBeIP = regexp.MustCompile(`[0-9a-fA-F:.]*[0-9a-fA-F]`)

func withoutIP(text string) string {
	if _, err := netip.ParseAddr(text); err != nil {
		return text
	}
	return "(ADDRESS)"
}

// cleaned is the report without what is private.
func (r report) cleaned(clean func(string) string) report {
	tidy := func(table map[string]string) map[string]string {
		out := map[string]string{}
		for key, value := range table {
			out[key] = cut(clean(value))
		}
		return out
	}
	r.Versions = tidy(r.Versions)
	r.Results = slices.Clone(r.Results)
	for i := range r.Results {
		result := &r.Results[i]
		result.Reason, result.Seen = cut(clean(result.Reason)), tidy(result.Seen)
	}
	return r
}

// summary counts the verdicts.
func (r report) summary() string {
	counts := map[verdict]int{}
	for _, result := range r.Results {
		counts[result.Verdict]++
	}
	return fmt.Sprintf("%d checks: %d hold, %d do not hold, %d could not be checked",
		len(r.Results), counts[holds], counts[doesNot], counts[notChecked])
}

// cut bounds a text that a server or a guest wrote, and makes it one line.
func cut(text string) string {
	const limit = 600
	text = strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, text)
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}

// write the report as JSON for programs and as Markdown for people.
func (r report) write(dir string) (names []string, err error) {
	base := filepath.Join(dir, "realvcenter-"+r.Time.UTC().Format("20060102-150405")+"-"+r.Run)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	const mode = 0o600
	err = errors.Join(os.WriteFile(base+".json", append(text, '\n'), mode), os.WriteFile(base+".md", []byte(r.markdown()), mode))
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return []string{base + ".json", base + ".md"}, nil
}

func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Checks in a real vCenter\n\nRun %s at %s, program %s.\n", r.Run, r.Time.UTC().Format(time.RFC3339), r.Program)
	if r.Interrupted {
		b.WriteString("\n**The run was interrupted.**\n")
	}
	b.WriteString("\n| | |\n| --- | --- |\n")
	row := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	row("server (digest)", cmp.Or(r.Server, "left out"))
	row("instance (digest)", r.Instance)
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		row(name, r.Versions[name])
	}
	b.WriteString("\n| Check | Verdict | Why | s |\n| --- | --- | --- | --- |\n")
	for _, result := range r.Results {
		row(result.Check, string(result.Verdict), result.Reason, fmt.Sprintf("%.1f", result.Seconds))
	}
	for _, result := range r.Results {
		fmt.Fprintf(&b, "\n## %s: %s\n\n", result.Check, result.Verdict)
		if result.Means != "" {
			fmt.Fprintf(&b, "%s\n\n", result.Means)
		}
		for _, name := range slices.Sorted(maps.Keys(result.Seen)) {
			fmt.Fprintf(&b, "- %s: %s\n", name, result.Seen[name])
		}
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(&b, "\n## Left in the vCenter\n\n%s\n", strings.Join(r.Left, ", "))
	}
	return b.String()
}
