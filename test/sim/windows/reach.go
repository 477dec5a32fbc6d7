package windows

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Network is the world outside of the machine. HTTPS says whether the other side answers, and if not, what was seen.
type Network interface {
	HTTPS(ctx context.Context, server Server) (answers bool, seen string)
	// Date is that of an HTTPS server; no answer, or one without a date, is the zero time.
	Date(ctx context.Context, server Server) time.Time
	// Web asks for a page; any answer but success is an error.
	Web(ctx context.Context, method, url string, body []byte) ([]byte, error)
}

// Server is an HTTPS server, and by what to know it: the CA that has issued its certificate, or nothing if Insecure.
type Server struct {
	Host, Path string
	Port       int
	CA         []byte
	Insecure   bool
	// Time at which its certificate must be valid; HTTPSAnswers fills it in.
	Time time.Time
}

// HTTPSAnswers is the door to Network.HTTPS.
func (m *Machine) HTTPSAnswers(ctx context.Context, server Server) (answers bool, seen string, err error) {
	if err := m.pass("Test-TlsServer"); err != nil {
		return false, "", err
	}
	server.Time = m.Time()
	answers, seen = m.Network.HTTPS(ctx, server)
	return answers, seen, nil
}

// ClockOffset is the door to Network.Date: how many seconds the machine's date is ahead of the server's, if that tells one.
func (m *Machine) ClockOffset(ctx context.Context, server Server) (seconds int, known bool, err error) {
	if err := m.pass("Get-ClockOffset"); err != nil {
		return 0, false, err
	}
	date := m.Network.Date(ctx, server)
	return int(m.Time().Sub(date) / time.Second), !date.IsZero(), nil
}

// Web is the door to Network.Web. What is posted is an effect, shown as summary.
func (m *Machine) Web(ctx context.Context, method, url, summary string, body []byte) ([]byte, error) {
	if err := m.pass("Invoke-WebRequest"); err != nil {
		return nil, err
	}
	answer, err := m.Network.Web(ctx, method, url, body)
	if err != nil || method != http.MethodPost {
		return answer, err
	}
	return answer, held(m, func() error { return m.changed("post %s %s", url, summary) })
}

// WriteSerial writes a line to a serial port, which is a file in C:\serial; the port "" is the console.
func (m *Machine) WriteSerial(port, line string) error {
	port = cmp.Or(port, "console")
	if strings.ContainsAny(port, `/\.`) {
		return fmt.Errorf("the port %q does not exist", port)
	}
	text := []byte(line + "\r\n")
	if m.OnSerial != nil {
		m.OnSerial(port, text)
	}
	return m.Append(`C:\serial\`+port+`.log`, text)
}

func (m *Machine) pass(door string) error { return held(m, func() error { return m.enter(door) }) }

// RealNetwork is this host's.
type RealNetwork struct {
	// Dial is how connections are made; nil is the host's way.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const patience = 5 * time.Second

func (n RealNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if n.Dial != nil {
		return n.Dial(ctx, network, address)
	}
	dialer := net.Dialer{Timeout: patience}
	return dialer.DialContext(ctx, network, address)
}

// HTTPS is part of Network. 401 and 403 are answers of a server that is there.
func (n RealNetwork) HTTPS(ctx context.Context, server Server) (answers bool, seen string) {
	got, err := n.get(ctx, server)
	if err != nil {
		return false, err.Error()
	}
	switch got.code {
	case http.StatusOK, http.StatusUnauthorized, http.StatusForbidden:
		return true, ""
	}
	return false, got.line
}

// Date is part of Network.
func (n RealNetwork) Date(ctx context.Context, server Server) time.Time {
	got, err := n.get(ctx, server)
	if err != nil {
		return time.Time{}
	}
	date, err := http.ParseTime(got.date)
	if err != nil {
		return time.Time{}
	}
	return date
}

// head is what is read of an answer.
type head struct {
	code       int
	line, date string
}

// get asks a server for its head.
func (n RealNetwork) get(ctx context.Context, server Server) (head, error) {
	transport := &http.Transport{DialContext: n.dial, TLSClientConfig: server.tls(), DisableKeepAlives: true}
	client := http.Client{Timeout: patience, Transport: transport}
	url := "https://" + net.JoinHostPort(server.Host, strconv.Itoa(server.Port)) + server.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return head{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return head{}, err
	}
	_ = response.Body.Close()
	return head{code: response.StatusCode, line: response.Proto + " " + response.Status, date: response.Header.Get("Date")}, nil
}

func (s Server) tls() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.Host, Time: func() time.Time { return s.Time }}
	if !s.Insecure && s.CA == nil {
		return config
	}
	config.InsecureSkipVerify = true // the plan says by which CA to know the server, and not by its name
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if s.CA == nil {
			return nil
		}
		return s.issued(state.PeerCertificates)
	}
	return config
}

// issued does not say why not, as the script does not: a certificate that is not valid yet is one of another CA, too.
func (s Server) issued(chain []*x509.Certificate) error {
	ca, err := x509.ParseCertificate(s.CA)
	if err != nil {
		return err
	}
	roots, others := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(ca)
	for _, certificate := range chain[1:] {
		others.AddCert(certificate)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: s.Time,
	})
	if err != nil {
		return errors.New("certificate of another CA")
	}
	return nil
}

// Web is part of Network.
func (n RealNetwork) Web(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("x-ms-version", "2015-04-05")
	request.Header.Set("x-ms-guest-agent-name", "capwin")
	request.Header.Set("Content-Type", "text/xml; charset=utf-8")
	client := http.Client{Timeout: 2 * patience, Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return answer, err
}
