package request

import (
	"fmt"
	"io"
)

// letters are 64, so that six bits of a random byte choose one without bias.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// passwordLength is below Azure's 123. Azure wants three of four classes of characters; the beginning sees to that.
const (
	passwordLength = 40
	classes        = "aA1-"
)

// Password makes a password that is sent once and kept nowhere.
func Password(random io.Reader) (string, error) {
	bytes := make([]byte, passwordLength)
	if _, err := io.ReadFull(random, bytes); err != nil {
		return "", fmt.Errorf("read random bytes for the password: %w", err)
	}
	for i, b := range bytes {
		bytes[i] = letters[b%byte(len(letters))]
	}
	return classes + string(bytes), nil
}
