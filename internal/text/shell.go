package text

import "strings"

// ShellQuote quotes a text for a shell.
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// plain are the bytes without a meaning to a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%"

// ShellWord quotes a text for a shell if it needs that.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return ShellQuote(s)
}
