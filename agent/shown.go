package agent

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of what an editor is sent of a call: many clients cannot read a line of more than 64 KiB. The whole text is in
// the result for the model, or in an artifact.
const (
	// maxShown bounds one text block, and a call's input, in bytes.
	maxShown = 16 << 10
	// maxShownTexts bounds all texts of a stored call, in bytes.
	maxShownTexts = 2 * maxShown
	// maxCutMark is the maximum number of bytes that cutMiddle adds.
	maxCutMark = 64
	// maxCallTitle bounds a call's title, in characters.
	maxCallTitle = 200
	// maxShownString bounds one text in an input that is too long.
	maxShownString = 1 << 10
	// maxWholeDiff is the maximum length of both texts of a diff that is shown whole, in bytes. Of a longer diff the
	// changed part is shown at any length, because the user has to see it.
	maxWholeDiff = 16 << 10
	// diffContext is the number of lines shown before and after the changed part.
	diffContext = 10
)

// shownContent returns content in the form for an editor.
func shownContent(content []Content) []Content {
	out := excerpts(content)
	for i, c := range out {
		if block, ok := c.(TextContent); ok {
			out[i] = TextContent{text.Middle(block.Text, maxShown)}
		}
	}
	return out
}

// boundContent returns stored content in the form for an editor. It does not cut texts again that were cut when they
// were stored.
func boundContent(content []Content) []Content {
	out := excerpts(content)
	left := maxShownTexts
	for i, c := range out {
		block, ok := c.(TextContent)
		if !ok {
			continue
		}
		if most := min(maxShown, left); len(block.Text) > most+maxCutMark {
			block.Text = text.Middle(block.Text, most)
			out[i] = block
		}
		left = max(left-len(block.Text), 0)
	}
	return out
}

// visibleTexts returns content for a question, with invisible and misleading characters made visible.
func visibleTexts(content []Content) []Content {
	for i, c := range content {
		if shown, ok := c.(TextContent); ok {
			content[i] = TextContent{text.Visible(shown.Text)}
		}
	}
	return content
}

// excerpts returns content with long diffs reduced to their changes.
func excerpts(content []Content) []Content {
	if content == nil {
		return nil
	}
	out := make([]Content, len(content))
	for i, c := range content {
		if d, ok := c.(DiffContent); ok {
			c = excerpt(d)
		}
		out[i] = c
	}
	return out
}

// excerpt removes the common lines at the start and the end of a long diff, except for a few.
func excerpt(d DiffContent) DiffContent {
	if d.Old == nil || len(*d.Old)+len(d.New) <= maxWholeDiff {
		return d
	}
	before, after := *d.Old, d.New
	head := strings.LastIndexByte(before[:commonPrefix(before, after)], '\n') + 1
	for range diffContext {
		head = strings.LastIndexByte(before[:max(head-1, 0)], '\n') + 1
	}
	before, after = before[head:], after[head:]
	tail := commonSuffix(before, after)
	kept := before[len(before)-tail:]
	for range diffContext + 1 {
		_, kept, _ = strings.Cut(kept, "\n")
	}
	before, after = before[:len(before)-len(kept)], after[:len(after)-len(kept)]
	return DiffContent{Path: d.Path, Old: &before, New: after}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// shownInput returns a call's input in the form for an editor: JSON with long texts cut. Input that is not JSON becomes
// a string.
func shownInput(input jsonx.Raw) jsonx.Raw {
	if len(input) > 0 && len(input) <= maxShown && jsonx.Valid(input) {
		return input
	}
	var v any
	if len(input) > 0 && jsonx.Unmarshal(input, &v) == nil {
		if short, err := jsonx.Marshal(cutStrings(v)); err == nil && len(short) <= maxShown {
			return short
		}
	}
	text, _ := jsonx.Marshal(text.Middle(string(input), maxShown)) // a string always encodes
	return text
}

func cutStrings(v any) any {
	switch v := v.(type) {
	case string:
		return text.Middle(v, maxShownString)
	case []any:
		for i := range v {
			v[i] = cutStrings(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = cutStrings(v[name])
		}
	}
	return v
}

// cutTitle bounds the title of a call.
func cutTitle(s string) string { return text.Truncate(s, maxCallTitle) }
