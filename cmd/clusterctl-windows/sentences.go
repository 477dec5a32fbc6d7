package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// sentences say of each kind of step what it changes: a beginning without a capital, no full stop.
var sentences = map[plan.Kind]func(plan.Step) string{
	"file":               of(sayFile),
	"directory":          of(sayDirectory),
	"remove":             of(sayRemove),
	"registry":           of(sayRegistry),
	"environment":        of(sayEnvironment),
	"service":            of(sayService),
	"serviceState":       of(sayServiceState),
	"run":                of(sayRun),
	"script":             of(sayScript),
	"waitFor":            of(sayWaitFor),
	"check":              of(sayCheck),
	"fact":               of(sayFact),
	"firewall":           of(sayFirewall),
	"feature":            of(sayFeature),
	"reboot":             of(sayReboot),
	"time":               of(sayTime),
	"localUser":          of(sayLocalUser),
	"pageFile":           of(sayPageFile),
	"defenderExclusions": of(sayDefenderExclusions),
	"portRange":          of(sayPortRange),
	"address":            of(sayAddress),
	"route":              of(sayRoute),
	"hnsNetwork":         of(sayHNSNetwork),
	"hnsCleanup":         of(sayHNSCleanup),
	"reservations":       of(sayReservations),
	"collectLogs":        of(sayCollectLogs),
	"report":             of(sayReport),
}

// of lets a function of one kind stand among those of all.
func of[S plan.Step](say func(S) string) func(plan.Step) string {
	return func(step plan.Step) string {
		one, ok := step.(S)
		if !ok {
			return fmt.Sprintf("is said to be a %s and is a %T", plan.KindOf(step), step)
		}
		return say(one)
	}
}

// values lists texts; facts, which only the node knows, stand in angle brackets.
func values(all []plan.Value) string {
	texts := make([]string, 0, len(all))
	for _, value := range all {
		texts = append(texts, value.String())
	}
	return strings.Join(texts, ", ")
}

// command is a command line as people write it: arguments with blanks in quotes.
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

// assignments lists variables in the order of their names.
func assignments(variables map[string]plan.Value) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		texts = append(texts, name+"="+quoted(variables[name]))
	}
	return strings.Join(texts, ", ")
}

// test is a question about a fact.
func test(t plan.Test) string {
	var asked []string
	for _, one := range []struct {
		words string
		value plan.Value
	}{
		{"is", t.Is}, {"is not", t.IsNot}, {"is at least", t.AtLeast}, {"is below", t.Below},
	} {
		if one.value != nil {
			asked = append(asked, one.words+" "+quoted(one.value))
		}
	}
	return "<" + t.Fact + "> " + strings.Join(asked, " and ")
}

// quoted shows that a text is empty.
func quoted(value plan.Value) string {
	if text := value.String(); text != "" {
		return text
	}
	return `""`
}

// clause is words before a text, or nothing where there is none.
func clause(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

func sayCheck(s *plan.Check) string { return "goes on only if " + test(s.Test) }

func sayFact(s *plan.Fact) string {
	return fmt.Sprintf("runs %s and keeps what matches %s as <%s>", commandLine(s.Argv), s.Match, s.Set)
}

func sayRun(s *plan.Run) string { return "runs " + commandLine(s.Argv) + sayProgram(s.Program) }

func sayScript(s *plan.Script) string {
	return "runs the script " + s.Path.String() + sayProgram(s.Program)
}

// sayProgram is what Run and Script share.
func sayProgram(p plan.Program) string {
	return clause(" in ", p.Directory) +
		clause(" with ", assignments(p.Environment)) +
		clause(", unless there is ", p.Creates.String()) +
		clause(", done at exit codes ", codes(p.OkExitCodes)) +
		clause(", done after a reboot at ", codes(p.RebootExitCodes)) +
		clause("; before another attempt it runs ", commandLine(p.Undo))
}

func codes(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

var conditions = map[plan.Condition]string{
	plan.ForFile:           "the file %s is there",
	plan.ForPipe:           "the pipe %s answers",
	plan.ForServiceRunning: "the service %s runs",
	plan.ForAddress:        "the machine has the address %s",
}

func sayWaitFor(s *plan.WaitFor) string {
	if words, ok := conditions[s.For]; ok {
		return "waits until " + fmt.Sprintf(words, s.Target)
	}
	text := fmt.Sprintf("waits until %s port %s answers %s", s.Host, s.Port, s.For)
	if s.For == plan.ForHTTPS {
		text += clause(" at ", s.Path.String())
	}
	switch {
	case s.CA != nil:
		return text + " with a certificate of the CA in the plan"
	case s.Insecure:
		return text + ", whoever it is"
	}
	return text
}

func sayReport(*plan.SendReport) string { return "reports how far it is" }
