package openai

import "github.com/gajae-code/gjc/providers/internal/dialect"

// callIDs are the ids of the calls of a conversation, as the server gets them: the same in a call and in its result.
type callIDs struct {
	mistral bool // only ids that Mistral takes
	most    int  // characters of an id that another model's server made
	sent    map[string]string
}

// call returns the id of a call. Its own a server gets back as it made them: some read meaning into them.
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
