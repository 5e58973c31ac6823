package secrets_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/jsonx"
)

var key = []byte("a key of the installation")

func newSet(t testing.TB, entries ...secrets.Entry) *secrets.Set {
	t.Helper()
	s, err := secrets.New(entries, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plain(values ...string) []secrets.Entry {
	var entries []secrets.Entry
	for _, v := range values {
		entries = append(entries, secrets.Entry{Content: v, Source: "a test"})
	}
	return entries
}

var token = regexp.MustCompile(`#[A-Z0-9]{4}#`)

// A value has the same placeholder in every process, independent of other values. Another key gives another placeholder.
func TestPlaceholders(t *testing.T) {
	a := newSet(t, plain("sk-proj-abc123def456")...)
	b := newSet(t, plain("another-secret", "sk-proj-abc123def456")...)
	got := a.Hide("key=sk-proj-abc123def456;")
	if !regexp.MustCompile(`^key=#[A-Z0-9]{4}#;$`).MatchString(got) || b.Hide("key=sk-proj-abc123def456;") != got {
		t.Errorf("%q and %q", got, b.Hide("key=sk-proj-abc123def456;"))
	}
	other, err := secrets.New(plain("sk-proj-abc123def456"), []byte("another key"))
	if err != nil || other.Hide("key=sk-proj-abc123def456;") == got {
		t.Errorf("the key does not count: %v", err)
	}
	if back := b.Restore(got); back != "key=sk-proj-abc123def456;" {
		t.Errorf("restored %q", back)
	}
	if got := a.Explain(got); !strings.HasSuffix(got, "# stands for a test.") || strings.Contains(got, "sk-proj") {
		t.Errorf("explained as %q", got)
	}
}

func TestHide(t *testing.T) {
	many := func(n int) []string {
		var all []string
		for i := range n {
			all = append(all, "secret-"+strings.Repeat("x", i+1))
		}
		return all
	}
	pem := "-----BEGIN KEY-----\nMIIEowIBAAKCAQEAtest1\nMIIEowIBAAKCAQEAtest2\n-----END KEY-----"
	for _, tt := range []struct {
		name    string
		secrets []string
		text    string
		tokens  int
		gone    []string
	}{
		{"none", []string{"abcdefgh"}, "nothing here, abcdefg", 0, nil},
		{"two beside each other", []string{"abcdefgh"}, "abcdefghabcdefgh", 2, []string{"abcd"}},
		{"one in the other", []string{"abcdefgh", "cdef"}, "abcdefgh cdef", 2, []string{"ab", "cdef", "gh"}},
		{"overlapping", []string{"abcdef", "defghi"}, "x abcdefghi x", 1, []string{"abc", "ghi"}},
		{"nested starts", many(20), strings.Join(many(20), " "), 20, []string{"secret-"}},
		{"not ASCII", []string{"pässwörd", "密码密码"}, "«pässwörd» 密码密码。", 2, []string{"pässwörd", "密码"}},
		{"in JSON", []string{"a\"b\\c\nd"}, `{"k":"a\"b\\c\nd"}`, 1, []string{"c"}},
		{"in JSON of Go", []string{"a<b>&cde"}, "{\"k\":\"a\\u003cb\\u003e\\u0026cde\"}", 1, []string{"cde"}},
		{"in JSON of Python", []string{"naïve-pässword-77"}, `{"p": "na\u00efve-p\u00e4ssword-77"}`, 1, []string{"ve-p", "77"}},
		{"in capitals", []string{"naïve-pässword-77"}, `{"p": "na\u00EFve-p\u00E4ssword-77"}`, 1, []string{"ve-p", "77"}},
		{"in two halves", []string{"key-😀-é-\x7f"}, `{"p": "key-\ud83d\ude00-\u00e9-\u007f", "q": "key-\uD83D\uDE00-\u00E9-\u007F"}`, 2, []string{"key"}},
		{"in JSON of PHP", []string{"ä/b/cde\\u00e4"}, `{"p":"\u00e4\/b\/cde\\u00e4"}`, 1, []string{"cde"}},
		{"in JSON in JSON", []string{"naïve-\"x\"-77"}, `{"a":"{\"p\":\"na\\u00efve-\\\"x\\\"-77\"}","b":"{\"p\":\"naïve-\\\"x\\\"-77\"}"}`, 2, []string{"ve-", "77"}},
		{"escaped slashes", []string{"ab/cd/ef"}, `{"k":"ab\/cd\/ef"}`, 1, []string{"ef"}},
		{"lines of a key", []string{pem}, "12: MIIEowIBAAKCAQEAtest1\n13: MIIEowIBAAKCAQEAtest2", 2, []string{"MIIE"}},
		{"a key", []string{pem}, "x" + pem + "x", 1, []string{"MIIE", "BEGIN"}},
		{"with the sign", []string{"abc#", "#12#345"}, "abc#12#345", 1, []string{"abc"}},
		{"before a placeholder", []string{"abc#", "secret-x"}, "abcsecret-x", 1, []string{"abc#"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSet(t, plain(tt.secrets...)...)
			got := s.HideForeign(tt.text)
			if n := len(token.FindAllString(got, -1)); n != tt.tokens {
				t.Errorf("%q has %d placeholders, want %d", got, n, tt.tokens)
			}
			rest := token.ReplaceAllString(got, "")
			for _, part := range tt.gone {
				if strings.Contains(rest, part) {
					t.Errorf("%q has %q", got, part)
				}
			}
			if back := s.Restore(got); back != tt.text {
				t.Errorf("restored %q", back)
			}
			if again := s.Hide(got); again != got {
				t.Errorf("hidden twice: %q, once: %q", again, got)
			}
		})
	}
}

// Literal text that looks like a placeholder is restored unchanged; a placeholder from a model is replaced.
func TestHide_Literal(t *testing.T) {
	s := newSet(t, plain("the-secret-value")...)
	p := s.Hide("the-secret-value")
	text := "see " + p + " and the-secret-value, also " + p[:5] + p
	foreign := s.HideForeign(text)
	if got := s.Restore(foreign); got != text {
		t.Errorf("restored %q, want %q", got, text)
	}
	if got := s.Hide("use " + p); got != "use "+p || s.Restore(got) != "use the-secret-value" {
		t.Errorf("a model's own: %q", got)
	}
	// Text next to a placeholder can form another one.
	two := newSet(t, plain("first-secret", "second-secret")...)
	a := two.Hide("first-secret")
	for _, text := range []string{a[:5] + "second-secret", "second-secret" + a[1:], a[:5] + "second-secret" + a[1:]} {
		if got := two.Restore(two.HideForeign(text)); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
}

func TestHide_Expressions(t *testing.T) {
	expr := func(s string) secrets.Entry {
		return secrets.Entry{Regexp: regexp.MustCompile(s), Source: "a test"}
	}
	s := newSet(t, append(plain("sk-secret-1"), expr(`(?i)bearer\s+\S+`), expr(`AKIA[0-9A-Z]{16}`), expr(`[A-Z0-9]{4}`))...)
	once := s.HideForeign("Authorization: Bearer sk-secret-1\nAKIAIOSFODNN7EXAMPLE")
	if strings.Contains(once, "Bearer") || strings.Contains(once, "AKIA") || len(token.FindAllString(once, -1)) != 2 {
		t.Errorf("%q", once)
	}
	if again := s.Hide(once); again != once { // the last expression matches part of a placeholder
		t.Errorf("hidden twice: %q", again)
	}
	key := s.Hide("sk-secret-1")
	own := s.Hide("curl -H 'Bearer " + key + "'")
	if got := s.Restore(own); got != "curl -H 'Bearer sk-secret-1'" {
		t.Errorf("%q came back as %q", own, got)
	}
}

func TestReplace(t *testing.T) {
	s := newSet(
		t,
		secrets.Entry{Content: "hunter2!", Mode: secrets.Replace, Replacement: "********", Source: "a"},
		secrets.Entry{Content: "pässwort", Mode: secrets.Replace, Source: "b"},
		secrets.Entry{Regexp: regexp.MustCompile(`postgres://\S+`), Mode: secrets.Replace, Replacement: "postgres://***", Source: "c"},
	)
	if got := s.Hide("a hunter2! b postgres://u:p@h/d c"); got != "a ******** b postgres://*** c" || s.Restore(got) != got {
		t.Errorf("%q", got)
	}
	got := s.Hide("<pässwort>")
	if !regexp.MustCompile(`^<[a-z0-9]{8}>$`).MatchString(got) || got != s.Hide("<pässwort>") {
		t.Errorf("%q", got)
	}
	for _, e := range []secrets.Entry{
		{Content: "hunter2", Mode: secrets.Replace, Replacement: "not hunter2", Source: "it"},
		{Content: "hunter2", Mode: secrets.Replace, Replacement: "x #AB12# x", Source: "it"},
		{Content: "abc", Source: "it"},
		{Regexp: regexp.MustCompile(`x*`), Source: "it"},
	} {
		if _, err := secrets.New([]secrets.Entry{e}, key); err == nil || !strings.HasPrefix(err.Error(), "it: ") || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func TestRestoreInput(t *testing.T) {
	s := newSet(t, plain("a \"quoted\"\nsecret", "other-secret")...)
	p, o := s.Hide("a \"quoted\"\nsecret"), s.Hide("other-secret")
	in := `{ "command" : "echo '` + p + `'", "env": {"` + o + `": ["\u0023` + o[1:] + `", 1, null]}, "x":"a\/b" }`
	want := `{ "command" : "echo 'a \"quoted\"\nsecret'", "env": {"other-secret": ["other-secret", 1, null]}, "x":"a\/b" }`
	if got := string(s.RestoreInput(jsonx.Raw(in))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, same := range []string{``, `{}`, `{"a":"b"`, `{"a":"#ZZ99#"}`} {
		if got := string(s.RestoreInput(jsonx.Raw(same))); got != same {
			t.Errorf("%s became %s", same, got)
		}
	}
}

// For any secrets and text, no secret reaches the model, and the text can be restored.
func FuzzRoundTrip(f *testing.F) {
	f.Add("abcdef\x00defghi\x00#AB1", "abcdefghi #AB12# #AB1", false)
	f.Add("abc#\x00x#1234", "abcabc#x#1234x#1234", true)
	f.Add("a\"b\nc\\", `{"k":"a\"b\nc\\"}`, false)
	f.Add("\xff\xfe\xfd\xfc\x00pässwörd", "x\xff\xfe\xfd\xfcpässwörd", true)
	f.Add("naïve-pässword-77", `{"p": "na\u00efve-p\u00e4ssword-77"}`, false)
	f.Add("aaaa\x00aaaaa", "aaaaaaaaaaaaaaaaaaa", false)
	f.Fuzz(func(t *testing.T, all, text string, twice bool) {
		var values []string
		for v := range strings.SplitSeq(all, "\x00") {
			if len(v) >= 4 && len(values) < 20 {
				values = append(values, v)
			}
		}
		s := newSet(t, plain(values...)...)
		if twice {
			// The text contains the set's placeholders as literal text.
			hidden := s.HideForeign(text)
			text = hidden + text
			for _, v := range values {
				text += s.Hide(v)[:5]
			}
			text += strings.Join(values, "")
		}
		for _, v := range values {
			text += strings.Trim(strconv.QuoteToASCII(strings.Map(simple, v)), `"`)
		}
		hidden := s.HideForeign(text)
		if i := slices.IndexFunc(values, func(v string) bool { return strings.Contains(hidden, v) }); i >= 0 {
			t.Errorf("%q has the secret %q", hidden, values[i])
		}
		if i := slices.IndexFunc(values, func(v string) bool {
			return v == strings.Map(simple, v) && strings.Contains(hidden, strings.Trim(strconv.QuoteToASCII(v), `"`))
		}); i >= 0 {
			t.Errorf("%q has the secret %q in ASCII", hidden, values[i])
		}
		if got := s.Restore(hidden); got != text {
			t.Errorf("%q became %q and came back as %q", text, hidden, got)
		}
		own := s.Hide(hidden)
		if got := s.Restore(own); got != text {
			t.Errorf("%q, hidden again %q, came back as %q", hidden, own, got)
		}
	})
}

// simple excludes the characters that Go and JSON escape differently.
func simple(c rune) rune {
	if c < ' ' || c == '"' || c == '\\' || c == 0x7f || c > 0xffff || c == utf8.RuneError {
		return -1
	}
	return c
}

// Permanent replacements contain no secret either.
func FuzzReplace(f *testing.F) {
	f.Add("abcdef\x00aaaa", "aaaaaabcdefaaa", "")
	f.Add("a***\x00secret", "asecret", "********")
	f.Fuzz(func(t *testing.T, all, text, replacement string) {
		var entries []secrets.Entry
		for v := range strings.SplitSeq(all, "\x00") {
			if len(v) >= 4 && len(entries) < 20 {
				mode := secrets.Replace
				if len(entries)%2 == 1 {
					mode = secrets.Obfuscate
				}
				entries = append(entries, secrets.Entry{Content: v, Mode: mode, Replacement: replacement, Source: "a test"})
			}
		}
		s, err := secrets.New(entries, key)
		if err != nil {
			t.Skip()
		}
		hidden := s.HideForeign(text)
		for _, e := range entries {
			if strings.Contains(hidden, e.Content) {
				t.Errorf("%q became %q, which has %q", text, hidden, e.Content)
			}
		}
	})
}
