package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// sifted writes an answer in pieces of a length, as it may arrive.
func sifted(answer string, piece int) (*sieve, error) {
	s := sieve{counted: uncounted}
	_, err := io.CopyBuffer(struct{ io.Writer }{&s}, struct{ io.Reader }{strings.NewReader(answer)}, make([]byte, piece))
	return &s, err
}

// TestSieve: each limit holds at its last value, and not one beyond.
func TestSieve(t *testing.T) {
	many := strings.Repeat("=", 1000)
	nested := func(n int) string { return strings.Repeat("<x>", n) + strings.Repeat("</x>", n) }
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"a vCenter's": {`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<a b="x>y" c='"'><d/>text &lt;x> <e f="/"></e></a>`, nil},

		"a ! in a value": {`<a b="!"/>`, nil},
		"an instruction": {"<?a > <!-- ?><b/>", nil},
		"quotes, no tag": {`<a></a '><?b "?><!-- ' " -->`, ErrForeign},
		"= in values":    {strings.Repeat(`<a b="`+many+`" c='`+many+"'/>", maxParts/len(many)), nil},

		"depth":          {nested(maxDepth), nil},
		"one by one":     {strings.Repeat("<x>x</x>", maxDepth+1), nil},
		"too deep":       {nested(maxDepth + 1), ErrTooLarge},
		"never closed":   {strings.Repeat("<x>", maxDepth+1), ErrTooLarge},
		"deep later on":  {"<?x?>" + strings.Repeat("<x>", maxDepth+1), ErrTooLarge},
		"deep with tags": {strings.Repeat("<x a='/'>", maxDepth+1), ErrTooLarge},

		"elements":             {"<r>" + strings.Repeat("<x/>", maxParts-2) + "</r>", nil},
		"too many elements":    {"<r>" + strings.Repeat("<x/>", maxParts-1) + "</r>", ErrTooLarge},
		"too many attributes":  {strings.Repeat("<x"+strings.Repeat(" a=''", 1000)+"/>", maxParts/1000+1), ErrTooLarge},
		"too many end tags":    {strings.Repeat("</x>", maxParts+1), ErrTooLarge},
		"too many declaration": {strings.Repeat("<?x?>", maxParts+1), ErrTooLarge},

		"a tag":           {"<" + strings.Repeat("x", maxTag-2) + "/>", nil},
		"too long a tag":  {"<" + strings.Repeat("x", maxTag-1) + "/>", ErrTooLarge},
		"too long an end": {"<x></" + strings.Repeat("x", maxTag) + ">", ErrTooLarge},
		"too long value":  {"<x a='" + strings.Repeat("x", maxTag) + "'/>", ErrTooLarge},

		"read":           {"<x>" + strings.Repeat("x", maxRead-7) + "</x>", nil},
		"too much":       {"<x>" + strings.Repeat("x", maxRead-6) + "</x>", ErrTooLarge},
		"kept":           {strings.Repeat("<x>"+strings.Repeat("x", maxText)+"</x>", maxKept/(maxText+7)), nil},
		"too much kept":  {strings.Repeat("<x>"+strings.Repeat("x", maxText)+"</x>", maxKept/(maxText+7)+1), ErrTooLarge},
		"a comment":      {"<x><!-- <y> --></x>", ErrForeign},
		"CDATA":          {"<x><![CDATA[</x>]]></x>", ErrForeign},
		"a DTD":          {`<!DOCTYPE x [<!ENTITY a "aaa">]><x>&a;</x>`, ErrForeign},
		"a comment late": {"<x>" + strings.Repeat(" ", maxText*2) + "<!--", ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{512, 32 << 10} {
				s, err := sifted(c.answer, piece)
				if !errors.Is(err, c.want) {
					t.Errorf("error = %v, want %v", err, c.want)
				}
				if s.out.Len() > maxKept+piece {
					t.Errorf("%d bytes are kept", s.out.Len())
				}
			}
		})
	}
}

// TestLimitsAreTold: an error says which limit it is.
func TestLimitsAreTold(t *testing.T) {
	for text, s := range map[string]*sieve{
		"more than 16777216 bytes":                 {read: maxRead},
		"a tag with more than 8192 bytes":          {state: inStartTag, size: maxTag},
		"more than 50000 elements and attributes":  {parts: maxParts + 1},
		"more than 100 elements inside each other": {state: tagBegins, depth: maxDepth},
	} {
		_, err := s.Write([]byte("x"))
		expect.Says(t, "a byte more", err, text)
	}
}

// answers are what a server says.
type answers string

// RoundTrip is part of http.RoundTripper.
func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// arrive returns the body of an answer, which its test closes.
func arrive(t *testing.T, b bounded) (io.ReadCloser, error) {
	t.Helper()
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vcenter", http.NoBody))(t)
	answer, err := b.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// TestHeavy: an answer with many parts is decoded alone, until it is closed, and one with fewer parts waits for none.
func TestHeavy(t *testing.T) {
	answering := func(parts int) bounded { return bounded{RoundTripper: answers(strings.Repeat("<x/>", parts))} }
	for parts, alone := range map[int]bool{heavy: false, heavy + 1: true} {
		synctest.Test(t, func(t *testing.T) {
			first := expect.Got(arrive(t, answering(parts)))(t)
			var second io.ReadCloser
			go func() { second, _ = arrive(t, answering(heavy+1)) }()
			synctest.Wait()
			expect.Same(t, "another one waits", alone, second == nil)
			expect.Same(t, "text", parts*len("<x/>"), len(expect.Got(io.ReadAll(first))(t)))
			for range 2 { // as often as one likes
				expect.OK(t, first.Close())
			}
			synctest.Wait()
			expect.OK(t, second.Close())
		})
	}
}

// TestAnswersHaveRoom: what answers take beyond the usual counts for the namespace of the account until they are closed, whatever
// its server sends, and without room there none is read.
func TestAnswersHaveRoom(t *testing.T) {
	kept := &tenants.Bytes{}
	b := bounded{answers(strings.Repeat("<x>"+strings.Repeat("x", maxText)+"</x>", 20)), kept.Share("team")}
	var open []io.ReadCloser
	for {
		body, err := arrive(t, b)
		if err != nil {
			expect.Same(t, "no room", true, errors.Is(err, ErrNoRoom))
			expect.Says(t, "the machine's condition", Classify(err), "leaves no room")
			break
		}
		open = append(open, body)
	}
	expect.Same(t, "answers of 2.5 MiB at once", 6, len(open))
	elsewhere := bounded{b.RoundTripper, kept.Share("elsewhere")}
	expect.OK(t, expect.Got(arrive(t, elsewhere))(t).Close())
	for _, body := range open {
		expect.OK(t, body.Close())
	}
	expect.Same(t, "kept in the end", 0, kept.Kept("team")+kept.Kept("elsewhere"))
}

// TestComplete: a vCenter has all parts that we use, and an id.
func TestComplete(t *testing.T) {
	ref := func() *types.ManagedObjectReference { return &types.ManagedObjectReference{Type: "a", Value: "b"} }
	for text, spoil := range map[string]func(*types.ServiceContent){
		"":                         func(*types.ServiceContent) {},
		"it has no SearchIndex":    func(c *types.ServiceContent) { c.SearchIndex = nil },
		"it has no SessionManager": func(c *types.ServiceContent) { c.SessionManager.Value = "" },
		"it has no rootFolder":     func(c *types.ServiceContent) { c.RootFolder.Value = "" },
		"its instanceUuid is not":  func(c *types.ServiceContent) { c.About.InstanceUuid = "x" },
	} {
		content := types.ServiceContent{
			SessionManager: ref(), SearchIndex: ref(), ViewManager: ref(), TaskManager: ref(), EventManager: ref(),
			PropertyCollector: *ref(), RootFolder: *ref(), About: types.AboutInfo{InstanceUuid: "dbed6e0c-bd88-4ef6-b594-21283e1c677f"},
		}
		spoil(&content)
		err := complete(content)
		expect.Says(t, "a vCenter", err, text)
		expect.Same(t, "foreign", text != "", errors.Is(err, ErrForeign))
	}
}

// TestAllThatIsKept: an answer that is as long as it may be when it is kept is whole.
func TestAllThatIsKept(t *testing.T) {
	text := "<x>" + strings.Repeat("x", maxText-7) + "</x>"
	for more, want := range map[string]string{"": "", " ": "the answer is too large: more than 4194304 bytes that count"} {
		_, err := sifted(strings.Repeat(text, maxKept/maxText)+more, 512)
		expect.Says(t, fmt.Sprint(len(more), " more"), err, want)
	}
}

// TestRecover: what panics at an answer is an error of that answer.
func TestRecover(t *testing.T) {
	err := func() (err error) {
		defer Recover(&err)
		panic("an answer")
	}()
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "an answer") {
		t.Errorf("error = %v", err)
	}
	s := (&inProcess{}).loggedIn()
	_, err = Do(t.Context(), s, func(context.Context, *vim25.Client) (any, error) { panic("an answer") })
	cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	expect.Same(t, "places that are taken", 0, len(s.placed))
}

// TestCut: the end of a long text is left out, and what remains can be decoded, wherever the limit falls.
func TestCut(t *testing.T) {
	for name, letter := range map[string]string{
		"letter": "x", "character": "\u20ac", "letter with an accent": "\u00e1",
		"entity": "&#34;", "the longest entity": "&#x10FFFF;", "name": "&quot;",
	} {
		for shift := range 12 {
			s, err := sifted("<x><y>"+strings.Repeat("x", shift)+strings.Repeat(letter, maxText/len(letter)+100)+"</y><z>z</z></x>", 4096)
			expect.OK(t, err)
			var got struct {
				Y string `xml:"y"`
				Z string `xml:"z"`
			}
			if err := xml.NewDecoder(&s.out).Decode(&got); err != nil {
				t.Fatalf("%s at %d: %v", name, shift, err)
			}
			if got.Z != "z" || len(got.Y) > maxText+maxEntity || len(got.Y) < cloud.MaxReport {
				t.Errorf("%s at %d: %d bytes and %q", name, shift, len(got.Y), got.Z)
			}
		}
	}
}

// TestCookie: a server can set one cookie, and that is sent.
func TestCookie(t *testing.T) {
	var jar cookie
	at := &url.URL{Scheme: "https", Host: "vcenter", Path: "/sdk"}
	other := &http.Cookie{Name: "a", Value: "a"}                                //nolint:gosec // because a vCenter sets it
	known := &http.Cookie{Name: soap.SessionCookieName, Value: "s", Path: "/x"} //nolint:gosec // because a vCenter sets it
	for range 3 {
		jar.SetCookies(at, []*http.Cookie{other, known})
	}
	expect.Same(t, "cookies", 1, len(jar.Cookies(at)))
	expect.Same(t, "cookie", "s", jar.Cookies(at)[0].Value)
}

// TestCookieAsGiven: a vCenter gives its cookie in quotes (the trace in govmomi, pull request 3655), and gets it back as it gave
// it.
func TestCookieAsGiven(t *testing.T) {
	for _, given := range []string{soap.SessionCookieName + `="52ab-cd"`, soap.SessionCookieName + "=52ab-cd"} {
		answer := http.Response{Header: http.Header{"Set-Cookie": {given + "; Path=/; HttpOnly; Secure; "}}}
		var jar cookie
		jar.SetCookies(nil, answer.Cookies())
		request := http.Request{Header: http.Header{}}
		for _, one := range jar.Cookies(nil) {
			request.AddCookie(one)
		}
		expect.Same(t, "cookie that is sent", given, request.Header.Get("Cookie"))
	}
}

// TestServerText: what a server writes into a fault is cut and cleaned, in the sentence for people and in the log.
func TestServerText(t *testing.T) {
	text := "System.Read\x1b[31m\nReady=True \u202e" + strings.Repeat("x", 100_000)
	for name, fault := range map[string]types.BaseMethodFault{
		"privilege": &types.NoPermission{PrivilegeId: text},
		"property":  &types.InvalidArgument{InvalidProperty: text},
		"unknown":   &types.SystemError{Reason: text},
	} {
		body := &soap.Fault{String: text}
		body.Detail.Fault = fault
		err := Classify(soap.WrapSoapFault(body))
		known, _ := errors.AsType[*cloud.Error](err)
		if known == nil {
			t.Fatal(err)
		}
		for where, shown := range map[string]string{"sentence": known.Message, "log": known.Err.Error()} {
			if len(shown) > maxCause || strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%s, %s: %d bytes, %.100q", name, where, len(shown), shown)
			}
		}
	}
}

// TestPrincipal: what means the same account is equal, however it is written, and nothing else is.
func TestPrincipal(t *testing.T) {
	good := func() map[string][]byte {
		return map[string][]byte{
			"server": []byte("vcenter.example.org"), "username": []byte("u"), "password": []byte("p"),
			"thumbprint": []byte(strings.Repeat("ab", 32)),
		}
	}
	want := expect.Got(Principal(good()))(t)
	for name, c := range map[string]struct {
		key, value string
		same       bool
	}{
		"line end":             {"password", "p\n", true},
		"case of the name":     {"server", "VCENTER.example.org", true},
		"colons":               {"thumbprint", strings.TrimSuffix(strings.Repeat("AB:", 32), ":"), true},
		"a key of another use": {"note", "x", true},
		"password":             {"password", "q", false},
		"user":                 {"username", "v", false},
		"server":               {"server", "other.example.org", false},
		"port":                 {"server", "vcenter.example.org:444", false},
		"thumbprint":           {"thumbprint", strings.Repeat("ac", 32), false},
	} {
		credentials := good()
		credentials[c.key] = []byte(c.value)
		if got := expect.Got(Principal(credentials))(t); (got == want) != c.same {
			t.Errorf("%s: the same account is %t, want %t", name, got == want, c.same)
		}
	}
	trusting := func(ca string) string {
		credentials := good()
		delete(credentials, "thumbprint")
		credentials["ca.crt"] = []byte(ca)
		return expect.Got(Principal(credentials))(t)
	}
	own := string(authorized(vcenter.New(t))["ca.crt"])
	expect.Same(t, "a CA and its line end", trusting(otherCA), trusting(otherCA+"\n"))
	for what, one := range map[string]string{"another CA": trusting(own), "a thumbprint": want} {
		if one == trusting(otherCA) {
			t.Errorf("%s is the same account", what)
		}
	}
	_, err := Principal(map[string][]byte{})
	cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsMissingReason)
}
