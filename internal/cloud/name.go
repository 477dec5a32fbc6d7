package cloud

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// The longest name that Windows gives a computer (NetBIOS), and how much of ours is the seed's digest: 50 bits, so
// that a million machines whose names begin alike collide with a chance of 1 in 2,000.
const (
	maxComputerName = 15
	digestLength    = 10
)

// Letters and digits without those that are taken for others.
var digestAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// ComputerName is a name for VM, computer and node: the beginning of the machine's name, for people, and a digest of the
// seed, which no other machine has.
func ComputerName(machine, seed string) string {
	sum := sha256.Sum256([]byte(seed))
	digest := digestAlphabet.EncodeToString(sum[:])[:digestLength]
	prefix := strings.Map(nameCharacter, strings.ToLower(machine))
	if room := maxComputerName - digestLength - 1; len(prefix) > room {
		prefix = prefix[:room]
	}
	prefix = strings.Trim(prefix, "-")
	if prefix == "" || prefix[0] < 'a' {
		// Windows refuses names of digits alone, and some tools names that begin with one.
		prefix = "win"
	}
	return prefix + "-" + digest
}

func nameCharacter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
