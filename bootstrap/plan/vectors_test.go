package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// vector is what this test needs of a case in vectors/, whose README explains the rest.
type vector struct {
	Name   string          `json:"name"`
	Plan   json.RawMessage `json:"plan"`
	Expect struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"expect"`
}

func readVectors(t *testing.T) map[string]vector {
	t.Helper()
	paths, err := filepath.Glob("vectors/*.json")
	if err != nil || len(paths) < 140 {
		t.Fatalf("found %d vectors, want 140 or more (%v)", len(paths), err)
	}
	vectors := map[string]vector{}
	for _, path := range paths {
		data := expect.Got(os.ReadFile(path))(t)
		var one vector
		if err := json.Unmarshal(data, &one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		vectors[strings.TrimSuffix(filepath.Base(path), ".json")] = one
	}
	return vectors
}

// Decode must refuse exactly the plans that an interpreter does not understand, in the same words, and lose nothing of
// the others.
func TestVectors(t *testing.T) {
	for name, vector := range readVectors(t) {
		t.Run(name, func(t *testing.T) {
			decoded, err := plan.Decode(vector.Plan)
			if vector.Expect.Reason == "PlanNotUnderstood" {
				refused, _ := errors.AsType[*plan.Error](err)
				if refused == nil || refused.Message != vector.Expect.Message {
					t.Fatalf("Decode: %v, want %q", err, vector.Expect.Message)
				}
				return
			}
			expect.OK(t, err)
			encoded := expect.Got(decoded.Encode())(t)
			expect.Same(t, "the plan after a round trip", normal(t, vector.Plan), normal(t, encoded))
		})
	}
}

// normal is a plan without what means nothing: empty lists, whether a number stands as digits in a string, and that the
// step which collects logs is of the kind that collects logs.
func normal(t *testing.T, data []byte) any {
	t.Helper()
	var document map[string]any
	expect.OK(t, json.Unmarshal(data, &document))
	if logs, ok := document["logs"].(map[string]any); ok {
		delete(logs, "do")
	}
	return normalNode(document)
}

func normalNode(node any) any {
	switch node := node.(type) {
	case float64:
		return fmt.Sprint(node)
	case []any:
		list := []any{}
		for _, item := range node {
			list = append(list, normalNode(item))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, item := range node {
			if list, ok := item.([]any); !ok || len(list) > 0 {
				object[name] = normalNode(item)
			}
		}
		return object
	}
	return node
}

// What Validate finds in the vectors: plans that are understood and can not work, or that lean on the test's world.
var invalidVectors = map[string]string{
	"05-file-parts":                   "content is given twice",
	"06-file-unknown-fact":            "fact 'nope' is not known here",
	"22-run-fails":                    "redact has a text of 6 characters",
	"36-waitfor-unknown":              `for "moon" must be one of https`,
	"65-reservations-no-row":          "must be given in every row but the last",
	"85-script-path-of-parts":         "content is given twice",
	"94-everyboot-keeps-the-plan":     "redact has a text of 6 characters",
	"96-everyboot-deadline-anew":      `name "slow again" must be letters`,
	"109-reservations-through-a-text": "rules.set goes through kubeReserved",
	"114-check-wants-unknown-fact":    "fact 'nope' is not known here",
	"115-when-wants-unknown-fact":     "fact 'nope' is not known here",
	"113-check-unknown-fact":          "fact 'nope' is not known here",
	"39-when":                         "when fact 'nope' is not known here",
	"126-reservations-unknown-fact":   "fact 'nope' is not known here",
	"198-file-unknown-access":         `access "admins" must be one of`,
	"199-service-unknown-state":       `state "sleeping" must be one of`,
	"193-everyboot-when-unknown":      "fact 'nope' is not known here",
}

func TestVectorsValidate(t *testing.T) {
	for name, vector := range readVectors(t) {
		t.Run(name, func(t *testing.T) {
			decoded, err := plan.Decode(vector.Plan)
			if err != nil {
				t.Skip("not understood")
			}
			want, known := invalidVectors[name]
			err = decoded.Validate()
			if known != (err != nil) || known && !strings.Contains(err.Error(), want) {
				t.Errorf("Validate: %v, want %q", err, want)
			}
		})
	}
}

// What the README says of a vector must be of one that is there, and each has a number of its own. test/sim/agent counts them: a
// lost one is seen.
func TestVectorsReadme(t *testing.T) {
	text := expect.Got(os.ReadFile("vectors/README.md"))(t)
	vectors := readVectors(t)
	known := regexp.MustCompile(`(?m)^\| (\d+-[a-z0-9-]+) \|`).FindAllStringSubmatch(string(text), -1)
	if len(known) == 0 {
		t.Error("no vector is a known difference: test/upstream/powershell finds none to leave out")
	}
	for _, one := range known {
		if _, ok := vectors[one[1]]; !ok {
			t.Errorf("README.md speaks of %s, which is not there", one[1])
		}
	}
	numbers := map[string]string{}
	for name, vector := range vectors {
		number, rest, _ := strings.Cut(name, "-")
		if other := numbers[number]; other != "" {
			t.Errorf("%s and %s have one number", name, other)
		}
		numbers[number] = name
		if rest != vector.Name {
			t.Errorf("%s calls itself %s", name, vector.Name)
		}
	}
}
