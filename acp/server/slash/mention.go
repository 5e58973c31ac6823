package slash

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/mcptools"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
)

// A Mention is a resource of an MCP server that a prompt names as @server:uri.
type Mention struct{ server, uri string }

func (m *Mention) String() string { return m.server + ":" + m.uri }

const (
	// maxMention bounds a mention in bytes.
	maxMention = 8 << 10
	// maxPictures bounds the images that are attached to one prompt together, in bytes.
	maxPictures = 10 << 20
)

// Mentions returns the texts in a prompt that have the form of a mention, each once. Those of embedded files do not count. Whether
// there is such a server is known only in the turn.
func Mentions(blocks []acp.ContentBlock) []Mention {
	var all []Mention
	for _, b := range blocks {
		if b, ok := b.(*acp.TextContent); ok {
			for _, m := range mentions(b.Text) {
				if !slices.Contains(all, m) {
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// mentions parses a text. A mention begins a word, and is not in code.
func mentions(s string) []Mention {
	if !strings.Contains(s, "@") {
		return nil
	}
	var all []Mention
	last := lastRuns(s)
	for i := 0; i < len(s); {
		switch {
		case s[i] == '`':
			i += code(s, i, last)
		case s[i] == '@' && beginsWord(s[:i]):
			m, n := mentionAt(s[i+1:])
			if m.uri != "" {
				all = append(all, m)
			}
			i += 1 + n
		default:
			i++
		}
	}
	return all
}

// lastRuns returns the index of the last run of backquotes of each length.
func lastRuns(s string) map[int]int {
	last := make(map[int]int)
	for i := 0; i < len(s); {
		n := run(s[i:])
		if n > 0 {
			last[n] = i
		}
		i += max(n, 1)
	}
	return last
}

// run returns the number of backquotes at the start of s.
func run(s string) int {
	n := 0
	for n < len(s) && s[n] == '`' {
		n++
	}
	return n
}

// code returns the length of the code at index i, where a run of backquotes begins: up to the next run of the same length. Without one,
// the run is text.
func code(s string, i int, last map[int]int) int {
	n := run(s[i:])
	if last[n] <= i {
		return n
	}
	for at := i + n; at < len(s); {
		next := strings.IndexByte(s[at:], '`')
		if next < 0 {
			break
		}
		at += next
		m := run(s[at:])
		at += m
		if m == n {
			return at - i
		}
	}
	return n
}

// beginsWord reports whether a word can begin after before. An address like me@example.com has no beginning in its middle.
func beginsWord(before string) bool {
	r, n := utf8.DecodeLastRuneInString(before)
	return n == 0 || unicode.IsSpace(r) || strings.ContainsRune("([{<\"'*", r)
}

// mentionAt parses the text after an @. It returns the length of the word, which is a mention if uri is not empty.
func mentionAt(s string) (m Mention, n int) {
	n = strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("`\"<>|", r)
	})
	if n < 0 {
		n = len(s)
	}
	if n > maxMention {
		return Mention{}, n
	}
	server, uri, ok := strings.Cut(trimWord(s[:n]), ":")
	scheme, rest, isURI := strings.Cut(uri, ":")
	if !ok || server == "" || !isURI || rest == "" || !isScheme(scheme) {
		return Mention{}, n
	}
	return Mention{server, uri}, n
}

// trimWord removes the punctuation that follows a word, and brackets that it does not open.
func trimWord(s string) string {
	const opening, closing = "([{", ")]}"
	var extra [len(closing)]int // closing brackets without an opening one
	for i := range extra {
		extra[i] = strings.Count(s, closing[i:i+1]) - strings.Count(s, opening[i:i+1])
	}
	for s != "" {
		last := s[len(s)-1]
		switch i := strings.IndexByte(closing, last); {
		case i >= 0 && extra[i] > 0:
			extra[i]--
		case strings.IndexByte(".,;:!?'*", last) < 0:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// isScheme reports whether s can be the scheme of a URI (RFC 3986).
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

// Attach returns a function for [agent.Prompt.Prepare] that adds the named resources to a prompt.
func (c *Commands) Attach(session *agent.Session, parts []providers.Part, named []Mention) func(context.Context, *agent.RunningTurn) (agent.Prepared, error) {
	return func(ctx context.Context, t *agent.RunningTurn) (agent.Prepared, error) {
		call := &call{ctx, &Typed{mentions: named}, c, session, t}
		more, err := call.resources()
		if err != nil || len(more) == 0 {
			return agent.Prepared{Parts: parts}, err
		}
		prompt := providers.Message{Parts: parts}
		return agent.Prepared{Parts: slices.Concat(parts, more), Shown: prompt.Text()}, nil
	}
}

// resources reads the resources that the prompt mentions. The text of a mention stays as it is. If a resource cannot be read, the user
// and the model are notified. It returns an error only if the call was canceled.
func (c *call) resources() ([]providers.Part, error) {
	if len(c.mentions) == 0 {
		return nil, nil
	}
	c.opts().MCP.Reload(c, false)
	set := c.opts().MCP.Built(c)
	if set == nil {
		return nil, nil
	}
	set.Resume(c)
	servers := set.Status()
	var parts []providers.Part
	var bytes, pictures, count int
	for i := range c.mentions {
		m := &c.mentions[i]
		server := resourceServer(servers, m.server)
		if server == "" {
			continue
		}
		place := m.String()
		if count++; count > maxFiles || bytes > maxAttached {
			c.warnUnread(place, "the prompt has too many resources")
			parts = append(parts, providers.Text{Text: "[@" + place + " is not attached: the prompt has too many resources. Read it with mcp_read_resource.]"})
			continue
		}
		read, images, err := c.readResource(set, server, m.uri)
		switch {
		case c.Err() != nil:
			return nil, context.Cause(c)
		case err != nil:
			why := text.Middle(err.Error(), maxOutput)
			c.warnUnread(place, why)
			parts = append(parts, providers.Text{Text: "[@" + place + " is not attached, because it cannot be read: " + why + "]"})
			continue
		}
		bytes += len(read)
		parts = append(parts, providers.Text{Text: content.EmbeddedText(place, read)})
		for _, img := range images {
			if pictures += len(img.Data); pictures > maxPictures {
				c.warnUnread(place, fmt.Sprintf("the images of the prompt exceed the limit of %d MB", maxPictures>>20))
				break
			}
			parts = append(parts, img)
		}
	}
	return parts, nil
}

func (c *call) warnUnread(place, why string) {
	c.opts().Session.Warn("A resource of the prompt is not attached.", "@"+place+": "+why)
}

// readResource reads a resource with a call of the user's, which the editor shows.
func (c *call) readResource(set *mcp.Set, server, uri string) (string, []providers.Image, error) {
	input, err := jsonx.Marshal(struct {
		Server string `json:"server"`
		URI    string `json:"uri"`
	}{server, uri})
	if err != nil {
		return "", nil, err
	}
	var images []providers.Image
	read, err := agent.RunInPrompt(c.turn, mcptools.ReadResourceName, input, mcptools.ReadResource(set, func(r *agent.Result) { images = r.Images }))
	if err != nil {
		return "", nil, err
	}
	return read, images, nil
}

// resourceServer returns the name of the server that a mention means; empty for none. A server that is connected and has no resources does
// not count.
func resourceServer(servers []mcp.ServerStatus, mentioned string) string {
	for i := range servers {
		s := &servers[i]
		if cleanName(s.Name) == mentioned && (s.State != mcp.StateConnected || s.Resources+s.Templates > 0) {
			return s.Name
		}
	}
	return ""
}
