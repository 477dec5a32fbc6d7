package objects

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Marks at the beginning of a text.
var (
	markUTF8    = []byte("\uFEFF")
	markUTF16LE = []byte{0xFF, 0xFE}
	markUTF16BE = []byte{0xFE, 0xFF}
)

const saveAsUTF8 = "save the file as UTF-8; in Windows PowerShell: kubectl get ... | Out-File -Encoding utf8 FILE"

// textOf returns the text of a file in UTF-8. The operator > of Windows PowerShell writes UTF-16 with a mark.
func textOf(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, markUTF8):
		data = data[len(markUTF8):]
	case bytes.HasPrefix(data, markUTF16LE):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, markUTF16BE):
		return fromUTF16(data[2:], binary.BigEndian)
	}
	if offset := bytes.IndexByte(data, 0); offset >= 0 {
		if withoutMark(data) {
			return nil, errors.New("line 1: this looks like UTF-16 without a byte order mark; " + saveAsUTF8)
		}
		return nil, fmt.Errorf("line %d: there is a NUL byte, so this is not a text of objects; %s", lineAt(data, offset), saveAsUTF8)
	}
	if offset := firstInvalid(data); offset >= 0 {
		return nil, fmt.Errorf("line %d: byte %#x is not UTF-8; %s", lineAt(data, offset), data[offset], saveAsUTF8)
	}
	return data, nil
}

// withoutMark reports whether the first characters have a NUL byte each, as ASCII in UTF-16 has.
func withoutMark(data []byte) bool {
	const characters = 8
	if len(data) < 2 {
		return false
	}
	for i := 0; i+1 < min(len(data), 2*characters); i += 2 {
		if (data[i] == 0) == (data[i+1] == 0) {
			return false
		}
	}
	return true
}

func fromUTF16(data []byte, order binary.ByteOrder) ([]byte, error) {
	if len(data)%2 != 0 {
		return nil, errors.New("the file begins as UTF-16 and ends in the middle of a character; it was cut off, export it again")
	}
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) > 0; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	var text []byte
	for i := 0; i < len(units); i++ {
		character := rune(units[i])
		if utf16.IsSurrogate(character) {
			var next rune
			if i++; i < len(units) {
				next = rune(units[i])
			}
			if character = utf16.DecodeRune(character, next); character == utf8.RuneError {
				return nil, fmt.Errorf("line %d: half a character of UTF-16; export the file again", lineAt(text, len(text)))
			}
		}
		if character == 0 {
			return nil, fmt.Errorf("line %d: there is a NUL character, so this is not a text of objects; export the file again",
				lineAt(text, len(text)))
		}
		text = utf8.AppendRune(text, character)
	}
	return text, nil
}

// firstInvalid returns the place of the first byte that is not UTF-8, or -1.
func firstInvalid(data []byte) int {
	for offset := 0; offset < len(data); {
		character, size := utf8.DecodeRune(data[offset:])
		if character == utf8.RuneError && size == 1 {
			return offset
		}
		offset += size
	}
	return -1
}

// lineAt returns the number of the line that has this byte, from 1.
func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }
