package fault

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Effect is what an error means for the machine or for others, besides its sentence.
type Effect string

// The effects of errors.
const (
	// NoEffect: only the request failed.
	NoEffect Effect = ""
	// Silences the class of calls in this subscription and region, for all machines.
	Silences Effect = "Silences"
	// ClosesFamily of sizes in the region, for all machines: the quota is used up.
	ClosesFamily Effect = "ClosesFamily"
	// ClosesSize in the zone, or in the region without zones, for all machines: there is no capacity for it now.
	ClosesSize Effect = "ClosesSize"
	// Taken: a VM of the name exists. Look whose it is.
	Taken Effect = "Taken"
	// Gone: the thing that was asked for does not exist, as far as this front end knows.
	Gone Effect = "Gone"
	// GroupGone: the resource group does not exist. This proves nothing about a VM of a living machine.
	GroupGone Effect = "GroupGone"
	// Guest: the guest did not start in time, or reported that it failed. The VM stays as it is.
	Guest Effect = "Guest"
	// Inline: the cloud does not know network adapters in the request for a VM.
	Inline Effect = "Inline"
	// Unready: Azure still works on something that the request names.
	Unready Effect = "Unready"
)

// Verdict is what an error means.
type Verdict struct {
	Effect Effect
	// Lacks is the action that the identity may not do; empty if that is not what is wrong.
	Lacks string
	// Word is our agent's report of its failure to Azure's host agent, with its mark; empty if Azure speaks for itself.
	Word string
	// Error is for the caller. Its After is when to try again.
	Error *cloud.Error
}

// AllowsFallback reports whether another size or zone may be tried, once the failed VM is gone.
func (v Verdict) AllowsFallback() bool { return v.Effect == ClosesFamily || v.Effect == ClosesSize }

// Judge returns what an error means. The first row that fits counts.
func Judge(a Answer) Verdict {
	codes, texts := a.codes(), a.texts()
	switch {
	case a.Foreign:
		return foreign.verdict(a)
	case a.ByID && a.Status == http.StatusNotFound && !isAny(codes, noPlace):
		return gone.verdict(a)
	}
	for _, r := range rows {
		if r.fits(a.Status, codes, texts) {
			return r.verdict(a)
		}
	}
	switch {
	case a.Status >= http.StatusInternalServerError:
		return fallback[http.StatusInternalServerError].verdict(a)
	case a.Status == 0:
		return fallback[0].verdict(a)
	}
	return fallback[http.StatusBadRequest].verdict(a)
}

// row is a line of the table. A condition that it leaves out fits all. Without kind and reason the request failed for now, and
// without advice the controller tries again.
type row struct {
	status int
	codes  []string // in lower case
	text   *regexp.Regexp

	kind   cloud.Kind
	reason string
	pause  time.Duration
	effect Effect
	advice string // what to do; the beginning of the sentence quotes Azure
}

func (r row) fits(status int, codes []string, texts string) bool {
	if r.status != 0 && r.status != status {
		return false
	}
	if r.codes != nil && !isAny(codes, r.codes) {
		return false
	}
	return r.text == nil || r.text.MatchString(texts)
}

func isAny(codes, wanted []string) bool {
	return slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(wanted, code) })
}

var word = regexp.MustCompile(`capwin1\|[\x20-\x7e]*`)

// wordOf is our agent's report in a message, up to where Azure's own sentence goes on.
func wordOf(message string) string {
	report, _, _ := strings.Cut(word.FindString(message), " Make sure the image")
	return report
}

func (r row) verdict(a Answer) Verdict {
	kind, reason := cmp.Or(r.kind, cloud.Transient), cmp.Or(r.reason, infrav1.CloudTaskFailedReason)
	err := cloud.Errorf(kind, reason, "%s: %s", quote(a), cmp.Or(r.advice, "the controller tries again"))
	err.After = max(r.pause, a.RetryAfter)
	if report := wordOf(a.Message); r.effect == Guest && report != "" {
		err.Message = "the guest has reported to Azure that its bootstrap failed: the condition BootstrapSucceeded has the cause"
		return Verdict{Effect: r.effect, Word: report, Error: err}
	}
	action, scope := missingAction(a)
	if action == "" || r.reason != infrav1.CredentialsRejectedReason {
		return Verdict{Effect: r.effect, Error: err}
	}
	err.Message = "Azure refuses the action " + action
	if scope != "" {
		err.Message += " on " + scope
	}
	err.Message += ": give the identity the right to it, as docs/azure.md lists"
	return Verdict{Effect: r.effect, Error: err, Lacks: action}
}

// Bounds of texts that are not ours.
const (
	maxCode    = 64
	maxMessage = 256
	maxAction  = 128
	maxScope   = 512
)

var (
	// What changes from one answer to the next would make each of them a new sentence: times, ids of requests, and long numbers.
	varying = regexp.MustCompile(`(?i)(\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)|` +
		`(\d{4}-\d\d-\d\dT[\d:.]+Z?)|'?\d+'? seconds?|\b\d+ms\b`)
	actions = regexp.MustCompile(`perform action(?:\(s\))? '([A-Za-z0-9./*-]+)'` +
		`(?: (?:over|on)(?: the linked)? scope(?:\(s\))? '([^']+)')?`)
)

// quote is Azure's message, fit to be shown: the same for each try.
func quote(a Answer) string {
	code := cloud.Clean(a.Code, maxCode)
	message := strings.TrimSpace(cloud.Clean(varying.ReplaceAllString(a.Message, "..."), maxMessage))
	switch {
	case code == "":
		return "Azure answers in an unexpected way (" + http.StatusText(a.Status) + ")"
	case message == "":
		return "Azure answers " + code
	}
	return "Azure answers " + code + " (" + message + ")"
}

// missingAction is the right that Azure misses, and where: the last one that it names, because the first is the one that was
// used.
func missingAction(a Answer) (action, scope string) {
	found := actions.FindAllStringSubmatch(a.Message, -1)
	if len(found) == 0 {
		return "", ""
	}
	missing := found[len(found)-1]
	return cloud.Clean(missing[1], maxAction), cloud.Clean(missing[2], maxScope)
}
