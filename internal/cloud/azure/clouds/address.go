package clouds

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxAddress = 255
	maxBundle  = 256 << 10
)

var hosts = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$`)

// origin is https://HOST or https://HOST:PORT, in lower case and without the slash at the end.
func origin(key, address string) (string, error) {
	wrong := fmt.Errorf("%s: this must be https:// and a host, such as https://management.example.com, with nothing behind it", key)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || len(address) > maxAddress {
		return "", wrong
	}
	host := strings.ToLower(u.Host)
	plain := strings.EqualFold(strings.TrimSuffix(address, "/"), "https://"+host) // so there is no user, path or query
	if !plain || !hosts.MatchString(host) || strings.Contains(host, "..") {
		return "", wrong
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", wrong
		}
	}
	return "https://" + strings.TrimSuffix(host, ":443"), nil
}

// audience reports whether this may be the audience of a token.
func audience(text string) bool {
	u, err := url.Parse(text)
	visible := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	return err == nil && u.Scheme != "" && u.User == nil && visible && len(text) <= maxAddress
}

func certificates(bundle string) bool {
	return len(bundle) <= maxBundle && x509.NewCertPool().AppendCertsFromPEM([]byte(bundle))
}
