package air

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Plans maps the plans that a model writes to updates for a client that has [PlanContentDelta]. The zero value is ready for use. It is
// not safe for concurrent use.
type Plans struct {
	written map[string]string // the text that the client has, by call ID, until the call is complete
}

// More returns the update for more text of a plan: the first has it as a whole, the others have what to append. Without text the plan
// is withdrawn.
func (p *Plans) More(callID, text string) acp.SessionUpdate {
	if text == "" {
		delete(p.written, callID)
		return &acp.PlanRemoved{PlanID: acp.PlanID(callID)}
	}
	before, begun := p.written[callID]
	if p.written == nil {
		p.written = make(map[string]string)
	}
	p.written[callID] = before + text
	if !begun {
		return wholePlan(callID, text)
	}
	u := wholePlan(callID, "")
	Set(&u.Meta, "contentDelta", text)
	return u
}

// Complete returns the update for the whole plan in the input of a call; nil if the client has it.
func (p *Plans) Complete(callID string, input jsonx.Raw) acp.SessionUpdate {
	before, begun := p.written[callID]
	delete(p.written, callID)
	var text string
	if jsonx.Unmarshal(jsonx.Lookup(input, "plan"), &text) != nil || begun && text == before {
		return nil
	}
	return wholePlan(callID, text)
}

func wholePlan(callID, text string) *acp.PlanUpdate {
	return &acp.PlanUpdate{Plan: &acp.PlanMarkdown{PlanID: acp.PlanID(callID), Content: text}}
}
