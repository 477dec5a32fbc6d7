package canary

import (
	"slices"
	"strings"
)

// Search looks for parts of secrets.
type Search struct {
	// Window is the length of a part. Use a longer one for a longer text: in megabytes some seven letters are there by chance.
	Window int

	parts map[string]string
	// lengths of the parts: those of secrets that are shorter than the window, too.
	lengths []int
	// begins has a bit for each beginning of a part, which most places of a text are not.
	begins [1 << 14]uint64
}

// shortest is the length of a part of which a text has none by chance.
const shortest = 7

// Add looks for the secret of an input, too.
func (s *Search) Add(input, name string) {
	if s.parts == nil {
		s.parts = map[string]string{}
	}
	text, between := Of(input, name), values[name].between
	window := min(s.Window, len(text))
	if window < shortest {
		return
	}
	least := 4
	if len(between) > 3 {
		least = 6 // what is between has letters of its own
	}
	for i := 0; i+window <= len(text); i++ {
		part := text[i : i+window]
		if random(part) < least || strings.Contains(between, part) {
			continue
		}
		s.parts[part] = name + " in the " + input
		if !slices.Contains(s.lengths, window) {
			s.lengths = append(s.lengths, window)
		}
		word, bit := place(part)
		s.begins[word] |= bit
	}
}

// random counts the letters that Of chose.
func random(part string) int {
	count := 0
	for _, c := range []byte(part) {
		if c >= 'a' && c <= 'z' || c >= '2' && c <= '7' {
			count++
		}
	}
	return count
}

// place is that of a beginning among all.
func place(text string) (word int, bit uint64) {
	hash := (uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24) * 2654435761 >> 12
	return int(hash >> 6), 1 << (hash & 63)
}

// Len is the number of parts.
func (s *Search) Len() int { return len(s.parts) }

// In lists the secrets of which a part is in a text, as deep as it can be decoded, with the part.
func (s *Search) In(text string) map[string]string {
	found := map[string]string{}
	for _, layer := range Layers([]byte(text)) {
		for i := 0; i+shortest <= len(layer); i++ {
			if word, bit := place(layer[i:]); s.begins[word]&bit == 0 {
				continue
			}
			for _, length := range s.lengths {
				if i+length > len(layer) {
					continue
				}
				if whose, ok := s.parts[layer[i:i+length]]; ok {
					found[whose] = layer[i : i+length]
				}
			}
		}
	}
	return found
}
