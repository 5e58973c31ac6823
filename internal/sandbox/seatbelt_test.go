package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestProfile(t *testing.T) {
	p := &Policy{
		Write: []string{"/Users/u/w", "/Users/u/.gjc/worktree", "/Users/u/w/.git/modules/m"},
		Keep:  []string{"/Users/u/w/.git", "/Users/u/w/.vscode", "/Users/u/.gjc/worktree/.envrc", "/Users/u/w/.git/modules/m/config"},
		Hide:  []string{"/Users/u/.gjc", "/Users/u/.ssh", "/Users/u/w/.env", `/Users/u/w/a "b" \c.pem`},
		Show:  []string{"/Users/u/.ssh/known_hosts"},
		Temp:  "/private/var/folders/x/T/gjc-tmp-1", ProxyPort: 8123,
	}
	const golden = "testdata/seatbelt.sb"
	if testenv.Update() {
		if err := os.WriteFile(golden, []byte(profile(p)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), profile(p)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestProfile_Network(t *testing.T) {
	closed, open := profile(new(Policy)), profile(&Policy{Network: true, ProxyPort: 8123})
	if strings.Contains(closed, "network") || strings.Contains(closed, "trustd") {
		t.Errorf("without the network:\n%s", closed)
	}
	if !strings.Contains(open, "(allow network*)") || strings.Contains(open, "8123") {
		t.Errorf("with the network:\n%s", open)
	}
}

// A profile with too many paths protects their directories.
func TestProfile_Many(t *testing.T) {
	p := &Policy{Write: []string{"/w"}}
	for i := range 20 {
		for j := range 40 {
			p.Keep = append(p.Keep, fmt.Sprintf("/w/%d/%s/%d", i, strings.Repeat("long", 50), j))
			p.Hide = append(p.Hide, fmt.Sprintf("/w/h%d/%s/%d", i, strings.Repeat("long", 50), j))
		}
	}
	text := profile(p)
	if len(text) > maxProfile {
		t.Errorf("%d bytes", len(text))
	}
	rules := parseProfile(t, text)
	for _, c := range []struct {
		paths []string
		op    string
	}{{p.Keep, "file-write-data"}, {p.Hide, "file-write-data"}, {p.Hide, "file-read-data"}} {
		for _, path := range c.paths {
			if rules.allows(c.op, path) {
				t.Errorf("%s of %s", c.op, path)
			}
		}
	}
	if !rules.allows("file-write-data", "/w/new") {
		t.Error("nothing can be written")
	}
}

// What a profile allows is what the policy says.
func TestProfile_Rules(t *testing.T) {
	rules := parseProfile(t, profile(&Policy{
		Write: []string{"/u/w", "/u/own/tree"}, Keep: []string{"/u/w/kept", "/u/own/kept", "/u/w/kept/open/no"},
		Hide: []string{"/u/own", "/u/w/dir/.env", "/u/own/tree/.env", "/u/own/shown/key"}, Show: []string{"/u/own/shown"},
	}))
	for path, want := range map[string]string{
		"/etc/passwd": "r", "/u": "r", "/u/other": "r", "/u/w/a": "rwu", "/u/w/new/b": "rwu", "/u/w": "rw", "/u/w/dir": "rw", "/u/w/dir/a": "rwu", "/u/w/kept": "r", "/u/w/kept/a": "r",
		"/u/w/keptnot": "rwu", "/u/w/dir/.env": "", "/u/w/dir/.env/a": "", "/u/own": "", "/u/own/a": "", "/u/own/kept": "", "/u/own/tree/a": "rwu", "/u/own/tree": "rw",
		"/u/own/tree/.env": "", "/u/own/shown/a": "r", "/u/own/shown/key": "",
	} {
		var got strings.Builder
		for op, letter := range map[string]string{"file-read-data": "r", "file-write-data": "w", "file-write-unlink": "u"} {
			if rules.allows(op, path) {
				got.WriteString(letter)
			}
		}
		if !sameLetters(got.String(), want) {
			t.Errorf("%s: %q, want %q", path, got.String(), want)
		}
	}
}

func sameLetters(a, b string) bool {
	return len(a) == len(b) && !strings.ContainsFunc(a, func(r rune) bool { return !strings.ContainsRune(b, r) })
}

// FuzzProfile checks that no path breaks out of its string literal.
func FuzzProfile(f *testing.F) {
	for _, path := range []string{"/a", `/a"b`, `/a\`, `/a\"`, "/a\nb", "/\xff\xfe", "/a\x00b", `/x")) (allow default) ((subpath "`, "/#\"", "/;a", "/ü\u2028", "/a\rb", "relative", ""} {
		f.Add(path, path)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			return
		}
		known := make(map[string]bool)
		for _, path := range []string{a, b, a + "/sub", b + "/sub", a + b} {
			for dir := filepath.Clean(path); !known[dir]; dir = filepath.Dir(dir) {
				known[dir] = true
			}
		}
		p := &Policy{Write: []string{a}, Keep: []string{a + "/sub", b}, Hide: []string{b + "/sub"}, Show: []string{a + b}, Temp: a}
		base := parseProfile(t, profile(&Policy{Temp: "/t"}))
		for _, r := range parseProfile(t, profile(p))[len(base)-4:] { // what follows are the rules of paths
			for _, path := range r.strings {
				if !known[path] {
					t.Errorf("%q is in the profile", path)
				}
			}
		}
	})
}

// profileRule is a rule of a profile.
type profileRule struct {
	words   []string // the verb, the operations, and the names of the filters
	strings []string // the decoded literals
}

type profileRules []profileRule

// parseProfile reads a profile as strictly as the tests need it.
func parseProfile(t *testing.T, text string) profileRules {
	t.Helper()
	var rules profileRules
	depth, word := 0, ""
	var r profileRule
	flush := func() {
		if word != "" {
			r.words, word = append(r.words, word), ""
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			var s []byte
			for i++; ; i++ {
				if i >= len(text) {
					t.Fatalf("a literal does not end:\n%s", text)
				}
				if text[i] == '"' {
					break
				}
				if text[i] == '\\' {
					if i++; i >= len(text) || text[i] != '"' && text[i] != '\\' {
						t.Fatalf("an unknown escape:\n%s", text)
					}
				}
				if text[i] == 0 {
					t.Fatalf("a null byte:\n%q", text)
				}
				s = append(s, text[i])
			}
			word = "" // the # of a regular expression
			r.strings = append(r.strings, string(s))
		case c == '(':
			flush()
			depth++
		case c == ')':
			flush()
			if depth--; depth < 0 {
				t.Fatalf("a parenthesis too many:\n%s", text)
			}
			if depth == 0 {
				rules, r = append(rules, r), profileRule{}
			}
		case c == ' ' || c == '\n':
			flush()
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-*#_", c) >= 0:
			word += string(c)
		default:
			t.Fatalf("the character %q outside of a literal:\n%s", c, text)
		}
	}
	if depth != 0 {
		t.Fatalf("a parenthesis is missing:\n%s", text)
	}
	return rules
}

// allows reports whether the last matching rule allows an operation on a file. It knows rules with one path, as [render] makes them.
func (rules profileRules) allows(op, path string) bool {
	allowed := false
	for _, r := range rules {
		matches := false
		for _, w := range r.words[1:] {
			prefix, all := strings.CutSuffix(w, "*")
			matches = matches || w == op || all && strings.HasPrefix(op, prefix)
		}
		if len(r.strings) > 0 {
			switch filter := r.words[len(r.words)-1]; filter {
			case "subpath":
				matches = matches && (path == r.strings[0] || strings.HasPrefix(path, r.strings[0]+"/"))
			case "literal":
				matches = matches && path == r.strings[0]
			default:
				matches = false
			}
		}
		if matches {
			allowed = r.words[0] == "allow"
		}
	}
	return allowed
}
