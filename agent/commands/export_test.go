package commands

// ExpandText expands a text with arguments.
var ExpandText = expand

// ParseDocument returns the front matter and the body of a file.
func ParseDocument(text string, problem func(line int, reason string)) (fields map[string]string, body string) {
	d := parseDocument(text, problem)
	return d.fields, d.body
}
