package session

import (
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

// Bounds of what is shown of the vCenter's words and of the server's name, and of how many stories are remembered.
const (
	maxWords   = 256
	maxServer  = 253
	maxStories = 10_000
)

// stories are what was last told of each machine that failed.
type stories struct {
	mu   sync.Mutex
	told map[string]story
}

// story is a reason and a message, and the message without what changes from try to try.
type story struct{ reason, message, lasting string }

// Told makes the error of a machine fit to be told to people: it adds which vCenter it is and what that says in its own words. As
// long as only numbers and ids differ from try to try, the words are those of the first try. They are logged once. done says that
// the machine is fine, or gone.
func (s *Session) Told(ctx context.Context, machine string, done bool, err error) error {
	if err == nil || errors.Is(err, cloud.ErrNotFound) {
		s.stories.end(machine, done || err != nil)
		return err
	}
	answered := Answered(err)
	err = s.speak(err)
	told, ok := errors.AsType[*cloud.Error](err)
	if !ok || !answered { // also when the account waits, which is told once for all machines
		return err
	}
	first, again := s.stories.tell(machine, story{told.Reason, told.Message, lasting(told.Message)})
	if !again {
		logr.FromContextOrDiscard(ctx).Info("The vCenter refused", "reason", told.Reason,
			"message", told.Message, "cause", told.Err.Error())
	}
	same := *told
	same.Message, same.Err = first.message, nil // the cause is in the log
	return &same
}

func (s *stories) end(machine string, done bool) {
	if !done {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, machine)
}

// tell returns the story as it was told first, and whether it was.
func (s *stories) tell(machine string, now story) (first story, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.told[machine]; before.reason == now.reason && before.lasting == now.lasting {
		return before, true
	}
	if s.told == nil || len(s.told) >= maxStories {
		s.told = map[string]story{}
	}
	s.told[machine] = now
	return now, false
}

// changing is what may differ between two faults of the same cause: ids, addresses, counts.
var changing = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4,12}){4}|0x[0-9a-fA-F]+|\d+`)

func lasting(message string) string { return changing.ReplaceAllString(message, "#") }

// spoken is an error that people are told in other words.
type spoken struct{ of *cloud.Error }

// Error is for logs.
func (s spoken) Error() string {
	if s.of.Err != nil {
		return s.of.Err.Error()
	}
	return s.of.Message
}

// Unwrap returns the error itself.
func (s spoken) Unwrap() error { return s.of }

// speak adds to an error which vCenter it is, and what that says in its own words.
func (s *Session) speak(err error) error {
	told, ok := errors.AsType[*cloud.Error](err)
	if again := (spoken{}); !ok || errors.As(err, &again) {
		return err
	}
	with := *told
	with.Err = spoken{told}
	server := cloud.Clean(s.to.server, maxServer)
	if said := words(told.Err); said != "" {
		with.Message = told.Message + "; vCenter " + server + ` says: "` + said + `"`
	} else {
		with.Message = fmt.Sprintf("%s (vCenter %s)", told.Message, server)
	}
	return &with
}

// words are the first words of a vCenter's own fault. A server that is not a vCenter has none, so that its answer is not shown.
func words(err error) string {
	var f types.BaseMethodFault
	message, ok := fault.As(err, &f)
	if !ok || Is[*types.NotAuthenticated](err) {
		return ""
	}
	said := append([]string{message, faultString(err)}, reasons(f)...)
	for _, m := range f.GetMethodFault().FaultMessage {
		said = append(said, m.Message)
	}
	first := ""
	for _, text := range said {
		if len(first) > maxWords { // a server may say a million things, and no more than this is shown
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

// faultString is what the answer to a call says beside its fault.
func faultString(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			return soap.ToSoapFault(err).String
		}
	}
	return ""
}

// reasons are what some faults say beside their message.
func reasons(f types.BaseMethodFault) (said []string) {
	switch f := f.(type) {
	case *types.GenericVmConfigFault:
		return []string{f.Reason}
	case *types.SystemError:
		return []string{f.Reason}
	case *types.NoCompatibleHost: // of each host, in any order
		for _, of := range f.Error {
			said = append(said, head(of.LocalizedMessage))
		}
		slices.Sort(said)
		return slices.Compact(said)
	}
	return nil
}
