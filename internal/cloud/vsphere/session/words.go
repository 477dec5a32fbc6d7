package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Bounds of what is shown of the vCenter's words and of the server's name, and of how many errors are remembered.
const (
	maxWords      = 256
	maxServer     = 253
	maxRemembered = 10_000
)

// lastErrors holds the last error of each machine that failed.
type lastErrors struct {
	mu        sync.Mutex
	byMachine map[string]lastError
}

// lastError is a reason and a message, and the message without what changes from try to try.
type lastError struct{ reason, message, lasting string }

// Explain makes the error of a machine fit for people: it adds which vCenter it is and cites that. As long as only numbers and
// ids differ from try to try, the words are those of the first try. They are logged once. settled is true if the machine is
// fine, or gone.
func (s *Session) Explain(ctx context.Context, machine string, settled bool, err error) error {
	if err != nil && !errors.Is(err, cloud.ErrNotFound) {
		return s.explained(ctx, machine, err)
	}
	if settled || err != nil {
		s.lastErrors.end(machine)
	}
	return err
}

func (s *Session) explained(ctx context.Context, machine string, err error) error {
	answered := Answered(err)
	err = s.withServer(err)
	cloudErr, ok := errors.AsType[*cloud.Error](err)
	if !ok || !answered { // also when the account waits, which is logged once for all machines
		return err
	}
	first, repeated := s.lastErrors.remember(machine, lastError{cloudErr.Reason, cloudErr.Message, lasting(cloudErr.Message)})
	if !repeated {
		logr.FromContextOrDiscard(ctx).Info("The vCenter refused", "reason", cloudErr.Reason,
			"message", cloudErr.Message, "cause", cloudErr.Err.Error())
	}
	shown := *cloudErr
	shown.Message, shown.Err = first.message, nil // the cause is in the log
	return &shown
}

func (s *lastErrors) end(machine string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byMachine, machine)
}

// remember returns the error as it was first, and whether it is a repetition.
func (s *lastErrors) remember(machine string, current lastError) (first lastError, repeated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if previous := s.byMachine[machine]; previous.reason == current.reason && previous.lasting == current.lasting {
		return previous, true
	}
	if s.byMachine == nil || len(s.byMachine) >= maxRemembered {
		s.byMachine = map[string]lastError{}
	}
	s.byMachine[machine] = current
	return current, false
}

// changing is what may differ between two faults of the same cause: ids, addresses, counts.
var changing = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4,12}){4}|0x[0-9a-fA-F]+|\d+`)

func lasting(message string) string { return changing.ReplaceAllString(message, "#") }

// cited marks the cause of an error whose message already names and cites the vCenter.
type cited struct{ error }

// Unwrap returns the cause.
func (c cited) Unwrap() error { return c.error }

// withServer adds to an error which vCenter it is, and what that answers in its own words.
func (s *Session) withServer(err error) error {
	cloudErr, ok := errors.AsType[*cloud.Error](err)
	if _, isCited := errors.AsType[cited](err); isCited || !ok {
		return err
	}
	extended := *cloudErr
	extended.Err = cited{cmp.Or[error](cloudErr.Err, cloudErr)}
	server := cloud.Clean(s.endpoint.server, maxServer)
	if quote := words(cloudErr.Err); quote != "" {
		extended.Message = cloudErr.Message + "; vCenter " + server + ` answers: "` + quote + `"`
	} else {
		extended.Message = fmt.Sprintf("%s (vCenter %s)", cloudErr.Message, server)
	}
	return &extended
}

// words are the first words of a vCenter's own fault. A server that is not a vCenter has none, so that its answer is not shown.
func words(err error) string {
	var f types.BaseMethodFault
	message, ok := fault.As(err, &f)
	if !ok || Is[*types.NotAuthenticated](err) {
		return ""
	}
	texts := append([]string{message, faultString(err)}, reasons(f)...)
	for _, m := range f.GetMethodFault().FaultMessage {
		texts = append(texts, m.Message)
	}
	first := ""
	for _, text := range texts {
		if len(first) > maxWords { // a server may send a million texts, and no more than this is shown
			break
		}
		if text = strings.Join(strings.Fields(head(text)), " "); !strings.Contains(first, text) {
			first = strings.TrimSpace(first + " " + text)
		}
	}
	return cloud.Clean(strings.ReplaceAll(first, `"`, "'"), maxWords)
}

// head is as much of a text as can be shown of it, however much white space it has, or too much.
func head(text string) string { return text[:min(len(text), 4*maxWords)] }

// faultString is the text of an answer beside its fault.
func faultString(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			return soap.ToSoapFault(err).String
		}
	}
	return ""
}

// reasons are the texts of some faults beside their message.
func reasons(f types.BaseMethodFault) (texts []string) {
	switch f := f.(type) {
	case *types.GenericVmConfigFault:
		return []string{f.Reason}
	case *types.SystemError:
		return []string{f.Reason}
	case *types.NoCompatibleHost: // of each host, in any order
		for _, hostFault := range f.Error {
			texts = append(texts, head(hostFault.LocalizedMessage))
		}
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	return nil
}
