package hub

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// features are the capabilities of a client that decide what it receives. An engine sends what its own client understands; the hub fits
// that to the others.
type features struct {
	declared                                        bool // the client knows the extension
	read, write, terminal                           bool
	form, url                                       bool
	plans, notices, compaction, subagents, booleans bool
	air                                             bool
}

// parseFeatures reads the parameters of initialize. What is malformed counts as not there.
func parseFeatures(params jsonx.Raw) features {
	var p struct {
		ClientCapabilities acp.ClientCapabilities `json:"clientCapabilities"`
	}
	_ = jsonx.Unmarshal(params, &p) // the engine reports the error
	c := &p.ClientCapabilities
	f := features{
		read: c.FS.ReadTextFile, write: c.FS.WriteTextFile, terminal: c.Terminal, plans: c.Plan != nil, subagents: c.Subagents != nil,
	}
	if c.Elicitation != nil {
		f.form, f.url = c.Elicitation.Form != nil, c.Elicitation.URL != nil
	}
	if s := c.Session; s != nil {
		f.notices, f.compaction = s.Notices != nil, s.Compaction != nil
		f.booleans = s.ConfigOptions != nil && s.ConfigOptions.Boolean != nil
	}
	var on bool
	if ok, err := c.Meta.Get(attachKey, &on); ok && err == nil {
		f.declared = on
	}
	var jetbrains jsonx.Raw
	if ok, err := c.Meta.Get("jetbrains", &jetbrains); ok && err == nil {
		f.air = jsonx.Lookup(jetbrains, "air") != nil
	}
	return f
}

// hasFilesOf reports whether a client can do all that another one could with files and terminals.
func (f *features) hasFilesOf(other *features) bool {
	return (f.read || !other.read) && (f.write || !other.write) && (f.terminal || !other.terminal)
}

// fit returns the parameters of an update as a client without some capabilities understands them; nil if there is nothing for it.
func (f *features) fit(kind string, params jsonx.Raw) jsonx.Raw {
	update := jsonx.Lookup(params, "update")
	replace := func(with any) jsonx.Raw { return setMember(params, "update", encode(with)) }
	switch kind {
	case "plan_update":
		if !f.plans {
			plan := jsonx.Lookup(update, "plan")
			entries := jsonx.Lookup(plan, "entries")
			if entries == nil {
				return nil // the text of a plan
			}
			return replace(map[string]any{"sessionUpdate": "plan", "entries": entries})
		}
	case "plan_removed":
		if !f.plans {
			return replace(map[string]any{"sessionUpdate": "plan", "entries": []string{}})
		}
	case "notice":
		if !f.notices {
			text := textMember(update, "title")
			if more := textMember(update, "description"); more != "" {
				text += "\n" + more
			}
			return replace(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": "[" + text + "]\n\n"}})
		}
	case "compaction_update", "compaction_summary_chunk":
		if !f.compaction {
			return nil
		}
	case "subagent_update", "session_message", "session_message_chunk":
		if !f.subagents {
			return nil
		}
	case "async_task_spawned", "async_task_state_update", "async_task_progress":
		if !f.air {
			return nil
		}
	case "config_option_update":
		return setIn(params, "update", f.fitOptions(update))
	case "tool_call", "tool_call_update":
		return setIn(params, "update", withoutElements(update, "content", "terminal"))
	}
	return params
}

// fitOptions removes switches from the options of an object, for a client that does not know them.
func (f *features) fitOptions(raw jsonx.Raw) jsonx.Raw {
	if f.booleans {
		return raw
	}
	return withoutElements(raw, "configOptions", "boolean")
}

// setIn is setMember that returns raw itself if nothing changes.
func setIn(raw jsonx.Raw, name string, value jsonx.Raw) jsonx.Raw {
	if old := jsonx.Lookup(raw, name); len(old) == len(value) {
		return raw // nothing was removed
	}
	return setMember(raw, name, value)
}

// withoutElements removes the elements with a type from a list in an object.
func withoutElements(raw jsonx.Raw, list, kind string) jsonx.Raw {
	var all []jsonx.Raw
	value := jsonx.Lookup(raw, list)
	if value.Kind() != '[' || jsonx.Unmarshal(value, &all) != nil {
		return raw
	}
	kept := make([]jsonx.Raw, 0, len(all))
	for _, v := range all {
		if v.Kind() != '{' || textMember(v, "type") != kind {
			kept = append(kept, v)
		}
	}
	if len(kept) == len(all) {
		return raw
	}
	return setMember(raw, list, encode(kept))
}
