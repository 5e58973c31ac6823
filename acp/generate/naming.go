package main

import (
	"strings"
	"unicode"
)

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]string{
	"acp": "ACP", "fs": "FS", "http": "HTTP", "id": "ID", "llm": "LLM", "mcp": "MCP", "mime": "MIME", "openai": "OpenAI",
	"sse": "SSE", "uri": "URI", "url": "URL",
}

// goName turns a JSON name of any style into an exported Go name.
func goName(name string) string {
	var b strings.Builder
	for _, word := range words(name) {
		if up, ok := initialisms[strings.ToLower(word)]; ok {
			b.WriteString(up)
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// words splits camelCase, snake_case, kebab-case, paths and sentences.
func words(name string) []string {
	var out []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r):
			flush()
		}
		word.WriteRune(r)
	}
	flush()
	return out
}
