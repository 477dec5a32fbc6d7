package agent

import (
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// secretLine is a line of a secret, and what is left of it without blanks and without what is not ASCII.
type secretLine struct{ text, dense string }

var (
	lineEnds  = regexp.MustCompile(`[\r\n]+`)
	notDense  = regexp.MustCompile(`[^\x21-\x7e]+`)
	shownLine = regexp.MustCompile(`^\s*\+ `)
)

// shortestSecret: a shorter line would also hide plain words.
const shortestSecret = 8

// readSecrets takes the lines of all secrets of the plan and of its secret files.
func (r *run) readSecrets() {
	texts := r.plan.Redact
	for _, phase := range r.plan.Phases {
		for _, step := range phase.Steps {
			if file, ok := step.(*plan.File); ok && file.Secret {
				r.secretFiles = true
				texts = append(texts, file.Text.String()+string(file.Content))
			}
		}
	}
	for _, text := range texts {
		for _, line := range lineEnds.Split(text, -1) {
			line = strings.TrimSpace(line)
			if dense := notDense.ReplaceAllString(line, ""); len(dense) >= shortestSecret {
				r.secrets = append(r.secrets, secretLine{line, dense})
			}
		}
	}
}

// hideLines hides secrets in what is told: also where a console has wrapped one, or has written it in its own code page; then all
// of the text is hidden.
func (r *run) hideLines(text string) string {
	clean := r.hide(text)
	for _, secret := range r.secrets {
		clean = strings.ReplaceAll(clean, secret.text, "[redacted]")
	}
	dense := notDense.ReplaceAllString(clean, "")
	for _, secret := range r.secrets {
		if strings.Contains(dense, secret.dense) {
			return "[redacted]"
		}
	}
	return clean
}

// isShown says that PowerShell shows a line that failed, behind a plus and cut: it may be part of a secret script.
func (r *run) isShown(line string) bool { return r.secretFiles && shownLine.MatchString(line) }
