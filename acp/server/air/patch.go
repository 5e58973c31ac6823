package air

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
)

const (
	// maxPatch bounds a patch, in bytes.
	maxPatch = 1 << 20
	// textStart bounds the part of a text that is searched for the NUL of a binary file, as in git.
	textStart = 8000
	noFile    = "/dev/null"
)

// patch is a change to one file.
type patch struct {
	Version int    `json:"version"`
	Format  string `json:"format"`
	Text    string `json:"text"`
}

// PatchedContent converts the content of a tool call as [content.ToolCall] does, with a patch in each diff instead of the texts. A diff that
// no patch can express has its texts.
func PatchedContent(list []agent.Content) []acp.ToolCallContent {
	all := content.ToolCall(list)
	for i, c := range list {
		d, ok := c.(agent.DiffContent)
		if !ok {
			continue
		}
		text, ok := gitPatch(&d)
		if !ok {
			continue
		}
		short := &acp.Diff{Path: d.Path}
		Set(&short.Meta, string(DiffPatch), patch{version, "git_patch", text})
		all[i] = short
	}
	return all
}

func gitPatch(d *agent.DiffContent) (string, bool) {
	from, after := "", d.New
	if d.Old != nil {
		from = *d.Old
	}
	if len(from)+len(after) > maxPatch || isBinary(from) || isBinary(after) {
		return "", false
	}
	_, hunks, ok := strings.Cut(udiff.Unified("a", "b", from, after), "\n+++ b\n")
	if !ok {
		return "", false // nothing has changed
	}
	if d.Skipped > 0 {
		hunks = moved(hunks, d.Skipped)
	}
	name := strings.TrimPrefix(filepath.ToSlash(d.Path), "/")
	oldName, newName := quoted("a/"+name), quoted("b/"+name)
	head := fmt.Sprintf("diff --git %s %s\n", oldName, newName)
	if d.Old == nil {
		head += "new file mode 100644\n"
		oldName = noFile
	}
	text := head + "--- " + ended(oldName) + "\n+++ " + ended(newName) + "\n" + hunks
	return text, len(text) <= maxPatch
}

// moved returns hunks with larger line numbers.
func moved(hunks string, by int) string {
	lines := strings.SplitAfter(hunks, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "@@ ") { // the lines of the file have a character before them
			continue
		}
		words := strings.Split(line, " ")
		for j, word := range words[1:3] {
			start, count, counted := strings.Cut(word[1:], ",")
			n, _ := strconv.Atoi(start) // the library has written it
			words[j+1] = word[:1] + strconv.Itoa(n+by)
			if counted {
				words[j+1] += "," + count
			}
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "")
}

func isBinary(text string) bool {
	return strings.Contains(text[:min(len(text), textStart)], "\x00")
}

// ended returns a name as it ends a line: git puts a tab after one with a space.
func ended(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

// quoted returns a name as git writes it: as a string of C if it has a quote, a backslash or a control character.
func quoted(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
