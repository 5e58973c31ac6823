package commands

import "strings"

// shell returns a command line with its placeholders replaced, each value quoted for where it stands, so that an argument adds no command.
// It reports false if a value cannot be quoted there.
func (x *expansion) shell(line string) (string, bool) {
	var b strings.Builder
	var quote byte // the open quote; zero for none
	nested := strings.Contains(line, "$(") || strings.Contains(line, "<<") || strings.Contains(line, "`") || strings.Contains(line, `\`)
	for i := 0; i < len(line); {
		value, n := x.placeholder(line[i:])
		if n > 0 && (quote != '\'' || enclosed(line, i, n)) { // between single quotes, $1 is for a program such as awk
			if nested && !harmless(value) {
				return "", false
			}
			b.WriteString(quoted(value, quote, wholeMark(line[i:])))
			i += n
			continue
		}
		switch c := line[i]; {
		case c != '"' && c != '\'':
		case quote == 0:
			quote = c
		case quote == c:
			quote = 0
		}
		b.WriteByte(line[i])
		i++
	}
	return b.String(), true
}

// wholeMark reports whether the placeholder at the start of s stands for all arguments.
func wholeMark(s string) bool {
	return strings.HasPrefix(s, "$@") || strings.HasPrefix(s, "$"+wholeArguments) && !strings.HasPrefix(s, "$"+wholeArguments+"[") || strings.HasPrefix(s, bracedArgs)
}

// quoted returns a value for a place between quotes of a kind, or outside of quotes, as one word or as several.
func quoted(value string, quote byte, several bool) string {
	switch {
	case quote == '"':
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value)
	case quote == '\'':
		return strings.ReplaceAll(value, "'", `'\''`)
	case several:
		return words(Split(value))
	default:
		return words([]string{value})
	}
}

// enclosed reports whether the n bytes at i are all that a pair of quotes encloses.
func enclosed(line string, i, n int) bool {
	return i > 0 && i+n < len(line) && line[i-1] == '\'' && line[i+n] == '\''
}

// words returns words quoted for a shell.
func words(list []string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = w
		if w == "" || !harmless(w) || strings.ContainsAny(w, " =~") || w[0] == '-' && strings.ContainsAny(w, "'\"") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// harmless reports whether a shell takes all characters of s literally, except for spaces.
func harmless(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(" _-./:=,+@%", r) && r < 0x80
	})
}
