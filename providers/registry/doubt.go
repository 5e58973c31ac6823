package registry

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// What a models.yml with a mistake may mean is looked for here, in one pass over its text: addresses and names of keys must
// hold while somebody puts it right.

// escape is how YAML and JSON write a character in ASCII.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})`)
})

// spelled returns the text of a file with its escapes written out. One in UTF-16 is so too, as far as it is ASCII.
func spelled(data []byte) string {
	text := bytes.ReplaceAll(data, []byte{0}, nil)
	return string(escape().ReplaceAllFunc(text, func(s []byte) []byte {
		code, _ := strconv.ParseUint(string(s[2:]), 16, 32) // the expression has seen to that
		return []byte(string(rune(code)))
	}))
}

// doubt takes the providers out of use for which data, a models.yml with a mistake, seems to have an address: their keys and
// all that is said to them may be for that address alone.
func (r *Registry) doubt(data []byte) {
	text := spelled(data)
	if !strings.Contains(text, "baseUrl") {
		return
	}
	for name := range strings.SplitSeq(text, ":") {
		name = strings.TrimRight(strings.TrimRight(name, " \t\r\n"), `"'`)
		begin := strings.LastIndexFunc(name, func(c rune) bool { return !idRune(c) })
		if begin >= 0 {
			_, size := utf8.DecodeRuneInString(name[begin:])
			name = name[begin+size:]
		}
		if a := r.access[name]; a != nil {
			a.unsure = true
		}
	}
}

// idRune reports whether the name of a built-in provider may have a character.
func idRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// plainVariables are names that children need, and that are not for keys.
const plainVariables = "PATH HOME USER LOGNAME SHELL LANG TERM PWD TMPDIR TEMP TMP TZ DISPLAY SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA " +
	"LOCALAPPDATA USERPROFILE USERNAME PROGRAMFILES PROGRAMDATA HTTP_PROXY HTTPS_PROXY NO_PROXY"

// behindKey is how many words behind a field for a key may be the name of a variable: YAML can have a tag and an anchor first.
const behindKey = 3

// suspects are the words of data, a models.yml with a mistake, that may be names of variables with keys: all that look like
// such a name, and whatever stands behind a field that may be meant for a key.
func suspects(data []byte) []string {
	plain := map[string]bool{}
	for name := range strings.FieldsSeq(plainVariables) {
		plain[name] = true
	}
	var names []string
	behind := 0
	for word := range strings.FieldsFuncSeq(spelled(data), func(c rune) bool { return c <= ' ' || strings.ContainsRune(`"'{}[],:#$`, c) }) {
		if (behind > 0 || variableName(word)) && len(word) > 1 && !plain[strings.ToUpper(word)] {
			names = append(names, word)
		}
		behind--
		if strings.Contains(strings.ToLower(word), "key") && !variableName(word) {
			behind = behindKey
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
