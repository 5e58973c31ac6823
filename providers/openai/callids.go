package openai

import "github.com/gajae-code/gjc/providers/internal/dialect"

// callIDs maps the ids of a conversation's calls to those that the server gets: the same in a call and in its result.
type callIDs struct {
	mistral bool // only ids that Mistral accepts
	most    int  // maximum length of an id from another model's server, in characters
	sent    map[string]string
}

// call returns the id to send for a call. A server receives its own ids unchanged, because some servers depend on their form.
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

// result returns the id to send for the call that a result answers.
func (c *callIDs) result(id string) string {
	if out, ok := c.sent[id]; ok {
		return out
	}
	return c.call(id, false)
}
