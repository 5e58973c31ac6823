package registry

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// A malformed models.yml cannot be used. But until the user has fixed it, no key may be sent to the wrong address, and no variable
// that the file names as a key may reach a child process. This file guesses the meaning of the text in one pass.

// escape matches the numeric escapes of YAML and JSON.
var escape = lazyregexp.New(`\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})`)

// unescape returns the text of a file with its escapes replaced. It also decodes the ASCII characters of UTF-16.
func unescape(data []byte) string {
	text := bytes.ReplaceAll(data, []byte{0}, nil)
	return string(escape().ReplaceAllFunc(text, func(s []byte) []byte {
		code, _ := strconv.ParseUint(string(s[2:]), 16, 32) // cannot fail: the expression matches only valid numbers
		return []byte(string(rune(code)))
	}))
}

// markAddressed marks the providers for which data, a malformed models.yml, seems to set an address.
func (l *listing) markAddressed(data []byte) {
	text := unescape(data)
	if !strings.Contains(text, "baseUrl") {
		return
	}
	for name := range strings.SplitSeq(text, ":") {
		name = strings.TrimRight(strings.TrimRight(name, " \t\r\n"), `"'`)
		begin := strings.LastIndexFunc(name, func(c rune) bool { return !isIDRune(c) })
		if begin >= 0 {
			_, size := utf8.DecodeRuneInString(name[begin:])
			name = name[begin+size:]
		}
		if p := l.providers[name]; p != nil {
			p.addressUnknown = true
		}
	}
}

// isIDRune reports whether the name of a built-in provider may contain c.
func isIDRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// plainVariables are variables that child processes need and that hold no keys.
const plainVariables = "PATH HOME USER LOGNAME SHELL LANG TERM PWD TMPDIR TEMP TMP TZ DISPLAY SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA " +
	"LOCALAPPDATA USERPROFILE USERNAME PROGRAMFILES PROGRAMDATA HTTP_PROXY HTTPS_PROXY NO_PROXY"

// wordsAfterKey is the number of words after a field for a key that may be the name of a variable: YAML allows a tag and an anchor
// before the value.
const wordsAfterKey = 3

// suspects returns the words of data, a malformed models.yml, that may name variables with keys: all words that look like the name
// of a variable, and the words after a field that may be meant for a key.
func suspects(data []byte) []string {
	plain := map[string]bool{}
	for name := range strings.FieldsSeq(plainVariables) {
		plain[name] = true
	}
	var names []string
	after := 0
	for word := range strings.FieldsFuncSeq(unescape(data), func(c rune) bool { return c <= ' ' || strings.ContainsRune(`"'{}[],:#$`, c) }) {
		if (after > 0 || isVariableName(word)) && len(word) > 1 && !plain[strings.ToUpper(word)] {
			names = append(names, word)
		}
		after--
		if strings.Contains(strings.ToLower(word), "key") && !isVariableName(word) {
			after = wordsAfterKey
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
