package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// sentences describe what a step of each kind changes, in lower case and without a full stop.
var sentences = map[plan.Kind]func(plan.Step) string{
	"file":               forKind(sayFile),
	"directory":          forKind(sayDirectory),
	"remove":             forKind(sayRemove),
	"registry":           forKind(sayRegistry),
	"service":            forKind(sayService),
	"serviceState":       forKind(sayServiceState),
	"run":                forKind(sayRun),
	"waitFor":            forKind(sayWaitFor),
	"check":              forKind(sayCheck),
	"fact":               forKind(sayFact),
	"feature":            forKind(sayFeature),
	"reboot":             forKind(sayReboot),
	"localUser":          forKind(sayLocalUser),
	"defenderExclusions": forKind(sayDefenderExclusions),
	"adapter":            forKind(sayAdapter),
	"address":            forKind(sayAddress),
	"route":              forKind(sayRoute),
	"hnsNetwork":         forKind(sayHNSNetwork),
	"hnsEndpoint":        forKind(sayHNSEndpoint),
	"hnsCleanup":         forKind(sayHNSCleanup),
	"reservations":       forKind(sayReservations),
	"collectLogs":        forKind(sayCollectLogs),
}

// forKind turns the function of one kind into one of any step.
func forKind[S plan.Step](say func(S) string) func(plan.Step) string {
	return func(step plan.Step) string {
		typed, ok := step.(S)
		if !ok {
			return fmt.Sprintf("has kind %s but is a %T", plan.KindOf(step), step)
		}
		return say(typed)
	}
}

// values lists values. Facts, which only the node knows, are in angle brackets.
func values(values []plan.Value) string {
	texts := make([]string, 0, len(values))
	for _, value := range values {
		texts = append(texts, value.String())
	}
	return strings.Join(texts, ", ")
}

// commandLine writes a command as in a shell: arguments with spaces are quoted.
func commandLine(argv []plan.Value) string {
	words := make([]string, 0, len(argv))
	for _, value := range argv {
		word := value.String()
		if word == "" || strings.ContainsAny(word, " \t") {
			word = `"` + word + `"`
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// assignments lists variables, sorted by name.
func assignments(variables map[string]plan.Value) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		texts = append(texts, name+"="+quoted(variables[name]))
	}
	return strings.Join(texts, ", ")
}

// question writes a test of a fact in words.
func question(t plan.Test) string {
	var asked []string
	for _, condition := range []struct {
		words string
		value plan.Value
	}{
		{"is", t.Is}, {"is not", t.IsNot}, {"is at least", t.AtLeast}, {"is below", t.Below},
	} {
		if condition.value != nil {
			asked = append(asked, condition.words+" "+quoted(condition.value))
		}
	}
	return "<" + t.Fact + "> " + strings.Join(asked, " and ")
}

// quoted returns the text of a value, and quotes if it is empty.
func quoted(value plan.Value) string {
	if text := value.String(); text != "" {
		return text
	}
	return `""`
}

// clause puts words in front of a text, and is empty if the text is empty.
func clause(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

func sayCheck(s *plan.Check) string { return "continues only if " + question(s.Test) }

func sayFact(s *plan.Fact) string {
	asks := "runs " + commandLine(s.Argv)
	if s.Registry != nil {
		asks = "reads " + s.Registry.Key + clause(": ", s.Registry.ValueName)
	}
	return fmt.Sprintf("%s and stores what matches %s as <%s>", asks, s.Match, s.Set)
}

func sayRun(s *plan.Run) string { return "runs " + commandLine(s.Argv) + sayProgram(s.Program) }

func sayProgram(p plan.Program) string {
	quiet := ""
	if p.Quiet {
		quiet = "; its output stays on the node"
	}
	return clause(" in ", p.Directory) +
		clause(" with ", assignments(p.Environment)) +
		clause(", unless this file exists: ", p.Creates.String()) +
		clause(", with success at exit codes ", codes(p.OkExitCodes)) +
		clause(", with success after a reboot at exit codes ", codes(p.RebootExitCodes)) +
		clause("; before it tries again, it runs ", commandLine(p.Undo)) + quiet
}

func codes(codes []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(codes), " ", ", "), "[]")
}

var conditions = map[plan.Condition]string{
	plan.ForFile:    "the file %s exists",
	plan.ForPipe:    "the pipe %s answers",
	plan.ForAddress: "the machine has the address %s",
}

func sayWaitFor(s *plan.WaitFor) string {
	if words, ok := conditions[s.For]; ok {
		return "waits until " + fmt.Sprintf(words, s.Target)
	}
	if s.For == plan.ForClock {
		return fmt.Sprintf("waits until the clock differs by %d s at most from that of %s port %s, and stores by how much as <%s>",
			s.WithinSeconds, s.Host, s.Port, plan.FactClockOffset)
	}
	text := fmt.Sprintf("waits until %s port %s answers %s", s.Host, s.Port, s.For)
	if s.For == plan.ForHTTPS {
		text += clause(" at ", s.Path.String())
	}
	switch {
	case s.CA != nil:
		return text + " with a certificate from the CA in the plan"
	case s.Insecure:
		return text + ", with any certificate"
	}
	return text
}
