package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// guestData reads guestinfo.NAME in the encoding that guestinfo.NAME.encoding names, as VMwareGuestInfoService does. Nil is
// that there is none.
func (p *power) guestData(ctx context.Context, name string) ([]byte, error) {
	value, err := p.guestValue(ctx, name)
	if err != nil {
		return nil, err
	}
	encoding, err := p.guestValue(ctx, name+".encoding")
	if err != nil {
		return nil, err
	}
	return decodeGuestData(value, encoding)
}

func (p *power) guestValue(ctx context.Context, name string) (string, error) {
	value, found, err := p.vm.Guestinfo(ctx, "guestinfo."+name)
	if err != nil {
		return "", fmt.Errorf("read guestinfo.%s: %w", name, err)
	}
	if !found {
		return "", nil
	}
	if len(value) > largestValue {
		return "", fmt.Errorf("guestinfo.%s has %d bytes, more than the %d that VMware Tools carry", name, len(value), largestValue)
	}
	return value, nil
}

func decodeGuestData(value, encoding string) ([]byte, error) {
	encoding = strings.TrimSpace(encoding)
	base64ed, gzipped := false, false
	switch encoding {
	case "", "plaintext":
	case "base64", "b64":
		base64ed = true
	case "gzip+base64", "gz+b64":
		base64ed, gzipped = true, true
	default:
		return nil, fmt.Errorf("Encoding %s not supported", encoding) //nolint:staticcheck // because cloudbase-init says it so
	}
	if value == "" {
		return nil, nil
	}
	data := []byte(value)
	if base64ed {
		var err error
		if data, err = lenientBase64(value); err != nil {
			return nil, err
		}
	}
	if !gzipped {
		return data, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not a gzipped file: %w", err)
	}
	return io.ReadAll(reader)
}

// lenientBase64 skips what is no base64, as Python does, but wants the padding.
func lenientBase64(value string) ([]byte, error) {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("+/=", c) {
			return c
		}
		return -1
	}, value)
	data, err := base64.StdEncoding.DecodeString(clean)
	if err != nil {
		return nil, fmt.Errorf("incorrect padding: %w", err)
	}
	return data, nil
}
