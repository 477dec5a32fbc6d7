package windows

import "strings"

// JoinArguments makes one command line by the rules of CommandLineToArgvW: backslashes double before a quote and at the end.
func JoinArguments(argv []string) string {
	quoted := make([]string, 0, len(argv))
	for _, one := range argv {
		quoted = append(quoted, quote(one))
	}
	return strings.Join(quoted, " ")
}

func quote(one string) string {
	if one != "" && !strings.ContainsAny(one, " \t\n\v\f\r\"") {
		return one
	}
	var out strings.Builder
	out.WriteByte('"')
	slashes := 0
	for _, char := range one {
		switch char {
		case '\\':
			slashes++
		case '"':
			out.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		out.WriteRune(char)
	}
	out.WriteString(strings.Repeat(`\`, slashes))
	out.WriteByte('"')
	return out.String()
}

// SplitArguments is CommandLineToArgvW, but for the name of the program, which has no backslash rules.
func SplitArguments(line string) []string {
	program, rest := splitProgram(strings.TrimLeft(line, " \t"))
	argv := []string{program}
	for rest = strings.TrimLeft(rest, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var one string
		one, rest = splitArgument(rest)
		argv = append(argv, one)
	}
	return argv
}

func splitProgram(line string) (program, rest string) {
	if after, quoted := strings.CutPrefix(line, `"`); quoted {
		program, rest, _ = strings.Cut(after, `"`)
		return program, rest
	}
	cut := strings.IndexAny(line, " \t")
	if cut < 0 {
		return line, ""
	}
	return line[:cut], line[cut:]
}

func splitArgument(line string) (one, rest string) {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			text, used := backslashes(line[i:])
			out.WriteString(text)
			i += used - 1
		case quoted && strings.HasPrefix(line[i:], `""`):
			out.WriteByte('"')
			i++
		case line[i] == '"':
			quoted = !quoted
		case !quoted && (line[i] == ' ' || line[i] == '\t'):
			return out.String(), line[i:]
		default:
			out.WriteByte(line[i])
		}
	}
	return out.String(), ""
}

// backslashes mean something before a quote only: two are one, and an odd one takes the quote for itself.
func backslashes(line string) (text string, used int) {
	count := len(line) - len(strings.TrimLeft(line, `\`))
	if count == len(line) || line[count] != '"' {
		return line[:count], count
	}
	text = strings.Repeat(`\`, count/2)
	if count%2 == 1 {
		return text + `"`, count + 1
	}
	return text, count
}
