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
		whole := strings.HasPrefix(line[i:], "$@") || strings.HasPrefix(line[i:], "$"+wholeArguments) || strings.HasPrefix(line[i:], bracedArgs)
		switch c := line[i]; {
		case n > 0 && quote == '\'' && !enclosed(line, i, n):
			n = 0 // $1 is for a program such as awk
		case n > 0 && nested && !harmless(value):
			return "", false
		case n > 0 && quote == 0 && whole:
			b.WriteString(words(Split(value)))
		case n > 0 && quote == 0:
			b.WriteString(words([]string{value}))
		case n > 0 && quote == '"':
			b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value))
		case n > 0:
			b.WriteString(strings.ReplaceAll(value, "'", `'\''`))
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == c && (c == '"' || c == '\''):
			quote = 0
		}
		if n == 0 {
			b.WriteByte(line[i])
			n = 1
		}
		i += n
	}
	return b.String(), true
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
