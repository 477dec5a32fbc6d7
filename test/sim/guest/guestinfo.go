package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// guestInfoService reads all values before any plugin runs: an error in one of them loses the others as well.
func (p *power) guestInfoService(ctx context.Context) (*instance, error) {
	data, err := p.guestData(ctx, "metadata")
	if err != nil {
		return nil, err
	}
	found := &instance{}
	if found.metadata, err = p.readMetadata(data); err != nil {
		return nil, err
	}
	if found.userData, err = p.guestData(ctx, "userdata"); err != nil {
		return nil, err
	}
	if len(found.metadata) == 0 && len(found.userData) == 0 {
		return nil, errors.New("neither metadata nor user data")
	}
	return found, nil
}

// readMetadata takes YAML, of which JSON is a part. What is not a mapping counts as an empty one.
func (p *power) readMetadata(data []byte) (map[string]any, error) {
	if data == nil && p.guest.cloudbase() == imageCloudbase {
		return nil, errors.New("'NoneType' object has no attribute 'read'")
	}
	var read any
	if err := yaml.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("invalid yaml data provided: %w", err)
	}
	metadata, ok := read.(map[string]any)
	if !ok {
		p.logInit("WARNING", "Instance metadata is not a dictionary.")
	}
	return metadata, nil
}

// guestData reads guestinfo.NAME in the encoding that guestinfo.NAME.encoding names. Nil means that it is not set.
func (p *power) guestData(ctx context.Context, name string) ([]byte, error) {
	value, err := p.guestValue(ctx, name)
	if err != nil {
		return nil, err
	}
	encoding, err := p.guestValue(ctx, name+".encoding")
	if err != nil {
		return nil, err
	}
	return decodeGuestData(value, string(encoding))
}

// guestValue is what rpctool prints, which ends with a line end; nil when it fails.
func (p *power) guestValue(ctx context.Context, name string) ([]byte, error) {
	value, found, err := p.vm.Guestinfo(ctx, "guestinfo."+name)
	if err != nil {
		return nil, fmt.Errorf("read guestinfo.%s: %w", name, err)
	}
	if len(value) > largestValue {
		p.logInit("DEBUG", "Failed to execute rpctool: guestinfo.%s has %d bytes, more than the %d that VMware Tools carry", name,
			len(value), largestValue)
		return nil, nil
	}
	if !found {
		return nil, nil
	}
	return []byte(value + "\r\n"), nil
}

func decodeGuestData(value []byte, encoding string) (data []byte, err error) {
	encoding = strings.TrimSpace(encoding)
	switch encoding {
	case "", "plaintext":
		return value, nil
	case "base64", "b64", "gzip+base64", "gz+b64":
	default:
		return nil, fmt.Errorf("Encoding %s not supported", encoding) //nolint:staticcheck // because cloudbase-init says it so
	}
	if value == nil {
		return nil, nil
	}
	data, err = lenientBase64(value)
	if err != nil || !strings.HasPrefix(encoding, "gz") {
		return data, err
	}
	return gunzip(data)
}

// gunzip takes nothing at all for the end of nothing, as Python does.
func gunzip(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return nil, errors.New("not a gzipped file")
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// lenientBase64 skips what is no base64 and ends at the padding, which may not be missing: all as in Python.
func lenientBase64(value []byte) ([]byte, error) {
	var letters []byte
	padding := 0
	for _, c := range value {
		switch {
		case strings.IndexByte(base64Letters, c) >= 0:
			letters, padding = append(letters, c), 0
		case c == '=':
			padding++
		}
		if used := len(letters) % 4; used >= 2 && used+padding >= 4 {
			return base64.RawStdEncoding.DecodeString(string(letters))
		}
	}
	if len(letters)%4 != 0 {
		return nil, errors.New("incorrect padding")
	}
	return base64.RawStdEncoding.DecodeString(string(letters))
}
