package agents

import "testing"

// Parsing terminates for any file, and its result is usable.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"---\nname: x\ndescription: d\n---\nbody", "---\ntools: [a, {b: c}]\nname: [\n---\n", "---\nname: &a x\ndescription: *a\nspawns: '*'\n---\nx", "---\n---\n", "\ufeff---\r\nname: x\r\n",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, foreign bool) {
		d, problems := parse(text, "base", foreign)
		if d == nil && len(problems) == 0 {
			t.Error("left out without a word")
		}
		if d != nil && (!validName(d.helper.Name) || !d.disabled && (d.helper.Description == "" || d.helper.Prompt == "")) {
			t.Errorf("%+v", d)
		}
	})
}

// The same holds for the TOML files of Codex.
func FuzzParseTOML(f *testing.F) {
	f.Add("name = 'x'\ndescription = 'd'\ndeveloper_instructions = 'do'\nmodel = 'a-mini'")
	f.Add("name = 3\n[a.b]\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, problems := parseTOML(text, "base")
		if d == nil && len(problems) == 0 {
			t.Error("left out without a word")
		}
		if d != nil && (!validName(d.helper.Name) || d.helper.Description == "" || d.helper.Prompt == "") {
			t.Errorf("%+v", d)
		}
	})
}
