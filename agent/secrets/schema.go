package secrets

import "github.com/gajae-code/gjc/internal/configfile"

// FileSchema returns the schema of secrets.yml.
func FileSchema() configfile.JSONSchema {
	text := func() configfile.JSONSchema { return configfile.OfKind(configfile.Text) }
	return configfile.ListOf(configfile.Fields(map[string]configfile.JSONSchema{
		"type":        configfile.OneOf([]string{"plain", "regex"}).About("whether content is the value itself or an RE2 expression"),
		"content":     configfile.JSONSchema{"type": "string", "minLength": 1}.About("the value; or the expression, which may be written as /expression/flags"),
		"mode":        configfile.OneOf([]Mode{Obfuscate, Replace}).About("obfuscate: a tool gets the value just before it runs; replace: nothing does"),
		"replacement": text().About("with replace: the text in place of the value"),
		"flags":       text().About("with regex: the flags of the expression"),
	}, "type", "content"))
}
