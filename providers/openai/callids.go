package openai

import "github.com/gajae-code/gjc/providers/internal/dialect"

// callIDs maps the ids of a conversation's calls to those that the server gets: the same in a call and in its result.
type callIDs struct {
	mistral bool // only ids that Mistral accepts
	most    int  // characters of an id of another model's server
	sent    map[string]string
}

// call returns the id of a call. A server gets its own ids back unchanged, because some depend on their form.
func (c *callIDs) call(id string, own bool) string {
	out := id
	switch {
	case c.mistral:
		out = dialect.MistralToolID(id)
	case !own && id != "":
		out = dialect.ToolID(id, c.most)
	}
	if c.sent == nil {
		c.sent = make(map[string]string)
	}
	c.sent[id] = out
	return out
}

// result returns the id of the call that a result answers.
func (c *callIDs) result(id string) string {
	if out, ok := c.sent[id]; ok {
		return out
	}
	return c.call(id, false)
}
