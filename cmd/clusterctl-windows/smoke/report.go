package smoke

import (
	"fmt"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// limits of Windows and of this command.
var limits = []cloud.Finding{
	{
		Check: "ping out of the cluster", Result: cloud.CheckSkipped,
		Text: "not tried: Windows does not translate addresses of ICMP, so pods get no answer; test with TCP",
	},
	{
		Check: "NodePort on its own node", Result: cloud.CheckSkipped,
		Text: "not tried: a process on a Windows node does not reach a NodePort of this node; other nodes and clients outside do",
	},
	{
		Check: "volumes", Result: cloud.CheckSkipped,
		Text: "not tried: they depend on your CSI drivers; docs/windows-nodes.md, \"Storage\", lists those for Windows",
	},
}

// maxWords is how much of a message of a program, containerd or the scheduler is shown.
const maxWords = 400

// report lists the findings in the order of the table of connections, node by node.
func (r *run) report() []cloud.Finding {
	found := append([]cloud.Finding{}, r.findings...)
	found = append(found, r.linuxServer.finding("Linux pod"))
	for i, target := range r.targets {
		found = append(found, cloud.Finding{
			Check: r.check(i, "Windows Node"), Result: cloud.CheckOK, Text: target.node + ", Windows " + target.build,
		}, r.windowsServers[i].finding(r.check(i, "Windows pod")))
		for _, c := range connections {
			found = append(found, r.connectionFinding(i, c))
		}
		found = append(found, r.answers[i]...)
	}
	if r.options.Outwards == "" {
		found = append(found, skipped("connections outwards", "not tried: --outwards none"))
	}
	return append(found, limits...)
}

// check is the name of what is tried for a target: where there are several, with its Node.
func (p *Plan) check(i int, name string) string {
	if len(p.targets) == 1 {
		return name
	}
	return p.targets[i].node + ": " + name
}

// connectionFinding is that of one connection of a target.
func (r *run) connectionFinding(i int, c connection) cloud.Finding {
	t := r.trialOf(i, c.kind)
	if t == nil {
		return skipped(r.check(i, c.name), r.whyNotTried(i, c))
	}
	f := cloud.Finding{Check: r.check(i, c.name), Result: cloud.CheckOK}
	if t.outcome.held {
		f.Text = fmt.Sprintf("%s, %s%s", t.address, seconds(t.took), attempts(t.outcome.tries))
		return f
	}
	f.Result, f.Text = cloud.CheckFailed, r.sentence(i, t)
	return f
}

// sentence describes what failed, and where to look.
func (r *run) sentence(i int, t *trial) string {
	failed := t.outcome.failure
	if t.unstarted {
		return sentenceOf("the pod "+t.pod+" does not try it", failed)
	}
	text := fmt.Sprintf("%s: %s%s, %s", t.address, shown(failed.words), attempts(t.outcome.tries), seconds(t.took))
	if help, general := helps[failed.cause]; general {
		return text + ". " + upper(help)
	}
	if first := r.trialOf(i, byCause(t.requires, failed.cause)); first != nil && !first.outcome.held {
		return text + fmt.Sprintf(". Mend %q first", first.name)
	}
	return text + ". " + upper(byCause(t.help, failed.cause))
}

// byCause is what a table has for a cause, or for all others.
func byCause[V any](table map[cause]V, key cause) V {
	if value, ok := table[key]; ok {
		return value
	}
	return table[""]
}

func (r *run) whyNotTried(i int, c connection) string {
	switch {
	case r.windowsServers[i].address == "":
		return "not tried: no Windows pod runs on this node"
	case c.kind == windowsOutwards && r.options.Outwards == "":
		return "not tried: --outwards none"
	case c.kind == linuxToNodePort && r.targets[i].address == "":
		return "not tried: the Node has no InternalIP"
	}
	return "not tried: the Linux pod does not run"
}

func (r *run) trialOf(i int, kind kind) *trial {
	for _, t := range r.trials {
		if t.target == i && t.kind == kind {
			return t
		}
	}
	return nil
}

// finding reports whether the server pod runs.
func (s *served) finding(check string) cloud.Finding {
	if s.failure != nil {
		return cloud.Finding{Check: check, Result: cloud.CheckFailed, Text: sentenceOf("the pod "+s.name+" does not run", s.failure)}
	}
	return cloud.Finding{Check: check, Result: cloud.CheckOK, Text: s.address + ", runs after " + seconds(s.took)}
}

func sentenceOf(subject string, failed *failure) string {
	if subject != "" {
		subject += ": "
	}
	return fmt.Sprintf("%s%s. %s", subject, shown(failed.words), upper(helps[failed.cause]))
}

func skipped(check, text string) cloud.Finding {
	return cloud.Finding{Check: check, Result: cloud.CheckSkipped, Text: text}
}

func attempts(tries int) string {
	if tries <= 1 {
		return ""
	}
	return fmt.Sprintf(", %d attempts", tries)
}

func seconds(d time.Duration) string { return d.Round(time.Second / 10).String() }

// shown is a message of another program, without the dot at its end.
func shown(words string) string { return strings.TrimRight(cloud.Clean(words, maxWords), ". ") }

func upper(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}
