package commands_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/gajae-code/gjc/agent/commands"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{"/a b", "/skill:x  y\nz", "//", "/ ", "/usr/bin", "/\xff", "/é\u2028x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, args, ok := commands.Parse(text)
		if !ok {
			if name != "" || args != "" {
				t.Fatalf("%q: %q, %q and no command", text, name, args)
			}
			return
		}
		if !strings.HasPrefix(text, "/"+name) || strings.ContainsFunc(name, unicode.IsSpace) || strings.Contains(name, "/") || name == "" {
			t.Fatalf("%q: name %q", text, name)
		}
		if args != strings.TrimSpace(text[1+len(name):]) {
			t.Fatalf("%q: args %q", text, args)
		}
	})
}

func FuzzExpand(f *testing.F) {
	f.Add("a $1 $2 $@ $ARGUMENTS", `x "y z" '`)
	f.Add("$", `\`)
	f.Add("$1$1$$2", "$1")
	f.Fuzz(func(t *testing.T, body, args string) {
		got := commands.ExpandText(body, args)
		if strings.TrimSpace(got) != got {
			t.Fatalf("%q has space around it", got)
		}
		if !strings.Contains(body, "$") {
			if want := strings.TrimSpace(body); args == "" && got != want {
				t.Fatalf("%q became %q", body, got)
			}
			if args != "" && !strings.HasSuffix(got, strings.TrimSpace(args)) {
				t.Fatalf("%q, %q: the arguments are not at the end of %q", body, args, got)
			}
		}
		// Arguments are inserted unchanged and not expanded again.
		if got := commands.ExpandText("<$ARGUMENTS>", args); got != "<"+args+">" {
			t.Fatalf("%q came in as %q", args, got)
		}
		// Quoted words are split to the original ones.
		words := strings.Split(strings.ReplaceAll(strings.ToValidUTF8(args, ""), "'", ""), "x")
		got = commands.ExpandText("<$1|$2|$@>", "'"+strings.Join(words, "' '")+"'")
		one, two := words[0], ""
		if len(words) > 1 {
			two = words[1]
		}
		if want := "<" + one + "|" + two + "|" + strings.Join(words, " ") + ">"; got != want {
			t.Fatalf("%q: got %q, want %q", words, got, want)
		}
	})
}

func FuzzDocument(f *testing.F) {
	f.Add("---\ndescription: a\n---\nbody")
	f.Add("\ufeff---\r\na: |\r\n  x\r\n  y\r\nb: \"\\x00\"\r\n---")
	f.Add("---\na:\n  - x\nb: >\nc\n---\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		fields, body := commands.ParseDocument(text, func(line int, reason string) {
			if line < 1 || line > 1+strings.Count(text, "\n")+strings.Count(text, "\r") || reason == "" {
				t.Fatalf("line %d of %q: %s", line, text, reason)
			}
			if line < last {
				t.Fatalf("line %d is told after line %d", line, last)
			}
			last = line
		})
		for name, value := range fields {
			if strings.ContainsFunc(value, unicode.IsControl) || strings.TrimSpace(value) != value || strings.ContainsAny(name, ": \n") {
				t.Fatalf("field %q: %q", name, value)
			}
		}
		if !strings.Contains(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), body) || strings.TrimSpace(body) != body {
			t.Fatalf("body %q of %q", body, text)
		}
		if again, rest := commands.ParseDocument("---\nx: y\n---\n"+body, func(int, string) {}); rest != body || again["x"] != "y" {
			t.Fatalf("the body %q became %q", body, rest)
		}
	})
}
