package preview

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// Guest is what a guest gets.
type Guest struct {
	// UserData is what cloudbase-init runs, PlanJSON is the plan in it, and Plan is the same plan decoded. Both plans are nil if
	// another release rendered the user data and this release cannot read it.
	UserData, PlanJSON []byte
	Plan               *plan.Plan
}

// masked is the replacement for a secret in user data that was rendered before.
const masked = "[hidden]"

// Hide returns a guest without secrets, for a guest with a plan from an earlier rendering. The secrets in such a plan are in
// files that it marks, in URLs of variables, and in its list of texts that reports do not show.
func Hide(stored Guest) (Guest, error) {
	clean, err := plan.Decode(stored.PlanJSON)
	if err != nil {
		return Guest{}, err
	}
	for _, phase := range slices.Concat(clean.Phases, clean.EveryBoot, clean.Background) {
		for _, step := range phase.Steps {
			hideStep(step)
		}
	}
	secrets := clean.Redact
	clean.Redact = []string{masked} // how many there are depends on how long they are
	data, err := clean.Encode()
	if err != nil {
		return Guest{}, err
	}
	if data, err = hideTexts(data, secrets); err != nil {
		return Guest{}, err
	}
	if clean, err = plan.Decode(data); err != nil {
		return Guest{}, errors.New("a secret is also a word that the plan needs")
	}
	return Guest{UserData: scripts.UserData(data), PlanJSON: data, Plan: clean}, nil
}

// login matches user and password in a URL.
var login = regexp.MustCompile(`://[^/]*@`)

// hideStep hides the content of a file with secrets, and logins in URLs of values.
func hideStep(step plan.Step) {
	switch step := step.(type) {
	case *plan.File:
		if step.Secret {
			step.Text, step.Content = plan.Text(masked), nil
		}
	case *plan.Registry:
		for _, value := range append(step.Values, step.Value) {
			for i := range value {
				value[i].Text = login.ReplaceAllString(value[i].Text, "://"+masked+"@")
			}
		}
	}
}

// hideTexts replaces secrets in all texts of a JSON document but its names, and whole texts that have one in base64. It works on
// the decoded texts, so that it does not matter how a secret is escaped.
func hideTexts(data []byte, secrets []string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("hide secrets: %w", err)
	}
	longestFirst := func(a, b string) int { return cmp.Compare(len(b), len(a)) } // a secret may be part of another one
	secrets = slices.SortedFunc(slices.Values(secrets), longestFirst)
	return json.Marshal(hideIn(tree, func(text string) string { return hideText(text, secrets) }))
}

func hideIn(node any, hidden func(string) string) any {
	switch node := node.(type) {
	case string:
		return hidden(node)
	case []any:
		for i := range node {
			node[i] = hideIn(node[i], hidden)
		}
	case map[string]any:
		for name, value := range node {
			node[name] = hideIn(value, hidden)
		}
	}
	return node
}

func hideText(text string, secrets []string) string {
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && holdsAny(string(decoded), secrets) {
		return masked
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, masked)
		}
	}
	return text
}

func holdsAny(text string, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(secret string) bool { return secret != "" && strings.Contains(text, secret) })
}
