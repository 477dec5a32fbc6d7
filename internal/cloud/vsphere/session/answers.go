package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/turns"
)

// Limits of an answer. The author of a Secret chooses the server, so an answer can be anything. A VM whose guest has
// written all that vSphere lets it write, one MiB, comes to six MiB of XML at most.
const (
	maxRead  = 16 << 20  // bytes after unpacking
	maxKept  = 4 << 20   // bytes that are kept in memory, the longest texts cut
	maxText  = 128 << 10 // bytes of a text; what is beyond is left out
	maxTag   = 8 << 10   // bytes of a tag with its attributes
	maxDepth = 100       // elements inside each other
	maxParts = 50_000    // elements and attributes

	// maxEntity is more than the longest entity has, such as &#x10FFFF;
	maxEntity = 16

	// maxHeader is how many bytes the head of an answer may have.
	maxHeader = 64 << 10

	// uncounted bytes of an answer take no room: most answers have no more. Those beyond count with what they are decoded to.
	uncounted = 64 << 10
	decoded   = 2

	// heavy answers have more parts than this. They are decoded one at a time, because the decoder needs up to a KiB for a part.
	heavy = 2000
)

// ErrTooLarge is the cause of the error if an answer has more than an answer may have.
var ErrTooLarge = errors.New("the answer is too large")

// ErrForeign is the cause of the error if an answer is not one that a vCenter gives.
var ErrForeign = errors.New("the answer is not that of a vCenter")

// bounded reads each answer to its end, within the limits, before anyone decodes it.
type bounded struct {
	http.RoundTripper
	share tenants.Share
}

// RoundTrip is part of http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := answer.Body
	defer func() { _ = body.Close() }()
	if !answered(answer) {
		_, _ = io.Copy(io.Discard, io.LimitReader(body, maxHeader)) // so that the connection can be used again
		answer.Body = http.NoBody                                   // because the status is the answer
		return answer, nil
	}
	read := Loan{share: b.share}
	kept := sieve{room: &read, counted: uncounted}
	leave := func() {}
	if _, err = io.Copy(&kept, body); err == nil && kept.parts > heavy { // which the sieve ends at its limits
		leave, err = decoders.Enter(r.Context(), b.share.Namespace())
	}
	if err != nil {
		read.End()
		return nil, err
	}
	answer.Body = arrived{&kept.out, sync.OnceFunc(func() {
		leave()
		read.End()
	})}
	return answer, nil
}

// decoders have a place for one heavy answer. All of it has arrived by then, so no server can make the others wait.
var decoders = turns.Places{Count: 1}

// arrived is an answer with all that it holds until it is closed.
type arrived struct {
	io.Reader
	release func()
}

// Close is part of io.ReadCloser.
func (a arrived) Close() error {
	a.release()
	return nil
}

// sieve is the writer of an answer. It counts, and keeps the answer without the ends of long texts.
type sieve struct {
	out                      bytes.Buffer
	read, depth, parts, size int // size of the text or tag so far
	state                    state
	quote, previous          byte
	entity, cut              bool // in a text: an & was kept without its ; yet, and the rest is left out
	room                     *Loan
	counted                  int // bytes of out for which there is room
}

type state int

const (
	inText state = iota
	tagBegins
	inStartTag
	inEndTag
	inInstruction
)

// Write is part of io.Writer. What is written with an error is of no use.
func (s *sieve) Write(p []byte) (int, error) { return len(p), s.sift(p) }

func (s *sieve) sift(p []byte) error {
	if s.read += len(p); s.read > maxRead {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxRead)
	}
	for i := 0; i < len(p); i++ {
		if s.cut { // until the text ends
			left := bytes.IndexByte(p[i:], '<')
			if left < 0 {
				break
			}
			i += left
		}
		c, keep := p[i], true
		if s.state == inText {
			keep = s.text(c)
		} else if err := s.tag(c); err != nil {
			return err
		}
		if keep {
			s.out.WriteByte(c)
		}
		s.previous = c
	}
	switch {
	case s.out.Len() > maxKept:
		return fmt.Errorf("%w: more than %d bytes that count", ErrTooLarge, maxKept)
	case s.parts > maxParts:
		return fmt.Errorf("%w: more than %d elements and attributes", ErrTooLarge, maxParts)
	case s.out.Len() > s.counted:
		growth := s.out.Len() - s.counted + uncounted
		s.counted += growth
		return s.room.Take(decoded * growth)
	}
	return nil
}

// text reports whether a byte of a text is kept. A text is not cut inside a character.
func (s *sieve) text(c byte) bool {
	if c == '<' {
		s.state, s.size, s.entity, s.cut = tagBegins, 0, false, false
		return true
	}
	s.size++
	unfinished := s.entity || c&0xC0 == 0x80 // an entity, or a character of several bytes
	s.cut = s.size > maxText && !unfinished || s.size > maxText+maxEntity
	s.entity = c == '&' || s.entity && c != ';'
	return !s.cut
}

// tag follows a byte of a tag. A vCenter sends no comments, no CDATA and no DTD, so these are refused.
func (s *sieve) tag(c byte) error {
	s.size++
	switch inStart := s.state == inStartTag; {
	case s.size > maxTag:
		return fmt.Errorf("%w: a tag with more than %d bytes", ErrTooLarge, maxTag)
	case s.state == tagBegins:
		return s.begin(c)
	case c == s.quote:
		s.quote = 0
	case s.quote != 0: // in the value of an attribute
	case inStart && (c == '"' || c == '\''):
		s.quote = c
	case inStart && c == '=':
		s.parts++
	case c == '>' && (s.state != inInstruction || s.previous == '?'):
		if inStart && s.previous == '/' {
			s.depth--
		}
		s.state, s.size = inText, 0
	}
	return nil
}

func (s *sieve) begin(c byte) error {
	s.parts++
	switch c {
	case '!':
		return fmt.Errorf("%w: it has a comment, CDATA or a DTD", ErrForeign)
	case '/':
		s.state = inEndTag
		s.depth--
	case '?':
		s.state = inInstruction
	default:
		s.state = inStartTag
		s.depth++
	}
	if s.depth > maxDepth {
		return fmt.Errorf("%w: more than %d elements inside each other", ErrTooLarge, maxDepth)
	}
	return nil
}

// careful turns what makes the decoder panic, and an answer without its result, into an error.
type careful struct{ soap.RoundTripper }

// RoundTrip is part of soap.RoundTripper.
func (c careful) RoundTrip(ctx context.Context, request, answer soap.HasFault) (err error) {
	defer Recover(&err)
	if err := c.RoundTripper.RoundTrip(ctx, request, answer); err != nil {
		return err
	}
	if result := reflect.ValueOf(answer).Elem().FieldByName("Res"); result.Kind() == reflect.Pointer && result.IsNil() {
		return fmt.Errorf("%w: it has no result", ErrForeign)
	}
	return nil
}

// Recover turns a panic into an error. Defer it where an answer of a vCenter is used.
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrForeign, r)
	}
}

// complete refuses a vCenter that lacks a part that we use, as an ESXi host does, or whose id is not one.
func complete(c types.ServiceContent) error {
	for name, ref := range map[string]*types.ManagedObjectReference{
		"SessionManager": c.SessionManager, "SearchIndex": c.SearchIndex, "ViewManager": c.ViewManager,
		"TaskManager": c.TaskManager, "EventManager": c.EventManager,
		"PropertyCollector": &c.PropertyCollector, "rootFolder": &c.RootFolder,
	} {
		if ref == nil || ref.Value == "" {
			return fmt.Errorf("%w: it has no %s", ErrForeign, name)
		}
	}
	if uuid.Validate(c.About.InstanceUuid) != nil {
		return fmt.Errorf("%w: its instanceUuid is not a UUID", ErrForeign)
	}
	return nil
}

// cookie keeps the one cookie that a vCenter needs, as it was given, so that a server cannot pile them up here.
type cookie struct{ kept atomic.Value }

// SetCookies is part of http.CookieJar.
func (c *cookie) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	for _, received := range cookies {
		if received.Name == soap.SessionCookieName {
			//nolint:gosec // because it only goes back to the server that gave it, over TLS
			c.kept.Store([]*http.Cookie{{Name: received.Name, Value: received.Value, Quoted: received.Quoted}})
		}
	}
}

// Cookies is part of http.CookieJar. The client speaks with one server alone, and with TLS.
func (c *cookie) Cookies(*url.URL) []*http.Cookie {
	kept, _ := c.kept.Load().([]*http.Cookie)
	return kept
}
