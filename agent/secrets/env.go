package secrets

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The rules that select secrets in the environment.
const (
	// minEnv is the minimum length of a value, in bytes.
	minEnv = 8
	// secretNames are the suffixes of words in names of secrets: API_KEY, GITHUB_TOKEN, PGPASSWORD, but not AUTHOR or
	// KEYBOARD.
	secretNames = "KEY SECRET TOKEN PASSWORD PASS AUTH CREDENTIAL PRIVATE OAUTH"
	// commonWords are values that are too common in text to be secrets.
	commonWords = "disabled enabled required optional automatic password passwords changeme undefined development production " +
		"localhost anonymous username example testing internal external default defaults keychain keyring secretservice"
	// roots are the top-level directories of paths. A slash alone does not make a path: a key can start with one, too.
	roots = "Applications Library System Users Volumes app bin data dev etc home lib lib64 mnt nix opt private proc root run sbin snap srv " +
		"tmp usr var workspace workspaces"
)

var (
	drive  = regexp.MustCompile(`^[A-Za-z]:[\\/]`)
	number = regexp.MustCompile(`^[0-9.,:_ -]+$`)
)

// FromEnv returns the secrets of an environment, given as NAME=value, sorted by name: the values of variables whose
// names indicate a secret, except paths, addresses without a password, numbers and common words.
func FromEnv(environ []string) []Entry {
	var entries []Entry
	for _, kv := range slices.Sorted(slices.Values(environ)) {
		name, value, ok := strings.Cut(kv, "=")
		value = strings.TrimSpace(value)
		if ok && secretName(name) && secretValue(value) {
			entries = append(entries, Entry{Content: value, Mode: Obfuscate, Source: "the environment variable " + name})
		}
	}
	return entries
}

func secretName(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		for end := range strings.FieldsSeq(secretNames) {
			if strings.HasSuffix(word, end) || strings.HasSuffix(word, end+"S") {
				return true
			}
		}
	}
	return false
}

func secretValue(value string) bool {
	if len(value) < minEnv || number.MatchString(value) || isPath(value) {
		return false
	}
	if slices.Contains(strings.Fields(commonWords), strings.ToLower(value)) {
		return false
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		return false
	}
	return true
}

func isPath(value string) bool {
	for _, start := range []string{"~/", "./", "../", `\\`, "file://", "unix:"} {
		if strings.HasPrefix(value, start) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(value, "/"); ok {
		first, _, deeper := strings.Cut(rest, "/")
		return deeper && slices.Contains(strings.Fields(roots), first)
	}
	return drive.MatchString(value)
}
