package commands

// ExpandText expands a text with arguments.
func ExpandText(body, args string) string {
	t := template{body: body, syntax: syntax{dollar: true, positions: true}}
	p := Prompt{Pieces: t.expand(args)}
	return p.Text()
}

// ParseDocument returns the front matter and the body of a file.
func ParseDocument(text string, problem func(line int, reason string)) (fields map[string]string, body string) {
	d := parseDocument(text, problem)
	return d.fields, d.body
}

// ExpandAll expands a text in the syntax of each program.
func ExpandAll(body, args string) (all [][]Piece) {
	for _, s := range []syntax{
		{dollar: true, positions: true, braces: true, inputs: true, bang: true, at: true, hash: true, gemini: true, named: true},
		{braces: true, gemini: true},
		{dollar: true, positions: true, named: true},
		{inputs: true, hash: true},
	} {
		t := template{body: body, syntax: s, names: []string{"one", "two"}}
		all = append(all, t.expand(args))
	}
	return all
}

// ParseTOML returns the prompt of a TOML file, or the line of its error.
func ParseTOML(file string) (line int, body string) {
	d, err := parseTOML(file)
	if err != nil {
		return err.line, ""
	}
	return 0, d.body
}
