package cloud

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

// maxComputerName is the longest name of a Windows computer (NetBIOS). digestLength of it are the digest of the seed: 50 bits,
// so that the chance of a collision is 1 in 2,000 among a million machines whose names begin alike.
const (
	maxComputerName = 15
	digestLength    = 10
)

// digestAlphabet leaves out the letters that are easily mistaken for another letter or a digit.
var digestAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz")

// notInName are the characters that a name does not take over.
var notInName = regexp.MustCompile(`[^a-z0-9]`)

// ComputerName returns a name for VM, computer and Node: the beginning of the machine's name, for people, and a digest of
// the seed, which no other machine has.
func ComputerName(machine, seed string) string {
	sum := sha256.Sum256([]byte(seed))
	digest := digestAlphabet.EncodeToString(sum[:])[:digestLength]
	prefix := notInName.ReplaceAllString(strings.ToLower(machine), "-")
	prefix = strings.Trim(prefix[:min(len(prefix), maxComputerName-digestLength-1)], "-")
	if prefix == "" || prefix[0] < 'a' {
		// Windows refuses a name of digits alone, and some tools refuse a name that begins with a digit.
		prefix = "win"
	}
	return prefix + "-" + digest
}
