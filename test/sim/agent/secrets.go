package agent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

var (
	lineEnds  = regexp.MustCompile(`[\r\n]+`)
	blanks    = regexp.MustCompile(`[\x00-\x20]+`)
	notDense  = regexp.MustCompile(`[^\x21-\x7e]+`)
	shownLine = regexp.MustCompile(`^\s*\+ |CategoryInfo`)
)

const (
	// shortestSecret: a shorter line would also hide plain words.
	shortestSecret = 8
	// foreign stands in a secret for what is not ASCII.
	foreign = "\x00"
)

// readSecrets takes the lines of all secrets of the plan and of its secret files, the longest first: one may be a part of
// another.
func (r *run) readSecrets(phases []plan.Phase) {
	r.redact = slices.Clone(r.head.Redact)
	longestFirst := func(a, b string) int { return cmp.Compare(len(b), len(a)) }
	slices.SortStableFunc(r.redact, longestFirst)
	texts := append(slices.Clone(r.redact), secretFiles(phases)...)
	var lines []string
	for _, text := range texts {
		for _, line := range lineEnds.Split(text, -1) {
			line = strings.Trim(notDense.ReplaceAllString(blanks.ReplaceAllString(line, ""), foreign), foreign)
			if len(strings.ReplaceAll(line, foreign, "")) >= shortestSecret {
				lines = append(lines, line)
			}
		}
	}
	slices.SortStableFunc(lines, longestFirst)
	r.secrets = nil
	for _, line := range slices.Compact(lines) {
		r.secrets = append(r.secrets, shownAs(line))
	}
}

func secretFiles(phases []plan.Phase) []string {
	var texts []string
	for _, phase := range phases {
		for _, step := range phase.Steps {
			if file, ok := step.(*plan.File); ok && file.Secret {
				texts = append(texts, file.Text.String()+string(file.Content))
			}
		}
	}
	return texts
}

// shownAs finds a line also where a console has wrapped it, or has written it in its own code page.
func shownAs(line string) *regexp.Regexp {
	var parts []string
	for _, char := range line {
		part := regexp.QuoteMeta(string(char))
		if string(char) == foreign {
			part = `[\s\S]{0,4}`
		}
		parts = append(parts, part)
	}
	return regexp.MustCompile(strings.Join(parts, `[^\x21-\x7e]*`))
}

// hide takes secrets out of what is told, and all that looks like a join token.
func (r *run) hide(text string) string {
	for _, secret := range r.secrets {
		text = secret.ReplaceAllString(text, "[redacted]")
	}
	for _, secret := range r.redact {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return joinToken.ReplaceAllString(text, "[redacted]")
}

// safeLines leaves out the lines in which PowerShell shows, cut, what has failed: they may be part of a secret script.
func (r *run) safeLines(text string) []string {
	return slices.DeleteFunc(lineEnd.Split(r.hide(text), -1), shownLine.MatchString)
}
