package slash

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/mcp"
)

// A command begins with a slash and a name of one word, and preserves everything that was typed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"/help", "/model  a/b:low ", "/", "//", "/usr/bin", "/a\tb\nc", " /help", "/\u00a0x", "/x y/z", "\xff/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typed, err := Parse([]acp.ContentBlock{&acp.TextContent{Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		if typed == nil {
			return
		}
		if name := typed.name; name == "" || strings.ContainsAny(name, "/ \t\r\n") || !strings.HasPrefix(text, "/"+name) {
			t.Errorf("%q is the command %q", text, name)
		}
		if typed.text != strings.TrimSpace(text) || !strings.HasSuffix(typed.text, typed.args) {
			t.Errorf("%q was read as %q with the arguments %q", text, typed.text, typed.args)
		}
	})
}

// Each word that follows a prompt's command goes to one argument. A missing required argument is an error.
func FuzzPromptArguments(f *testing.F) {
	p := &mcp.Prompt{Server: "s", Name: "p", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}, {Name: "b"}}}
	for _, s := range []string{"", "x", "x y z", "b=1 x", "a=1 b=2", "a= x", `"x y" z`, "'", "=", "c=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		args, err := promptArguments(p, typed)
		if err != nil {
			return
		}
		if _, ok := args["a"]; !ok {
			t.Errorf("%q gives %q, without the required argument", typed, args)
		}
		for name := range args {
			if name != "a" && name != "b" {
				t.Errorf("%q gives %q", typed, args)
			}
		}
	})
}
