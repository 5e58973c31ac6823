package conformance

import "slices"

// An option is a session configuration option that the agent sent.
type option struct {
	raw     any
	id      string
	boolean bool
	current any
	values  []string // values of a select option, grouped or not
}

// options decodes the configuration options of a response or an update.
func options(v any) []*option {
	var all []*option
	for _, raw := range list(v, "configOptions") {
		o := &option{raw: raw, id: str(raw, "id"), boolean: str(raw, "type") == "boolean", current: at(raw, "currentValue")}
		for _, value := range list(raw, "options") {
			if group := list(value, "options"); group != nil {
				for _, v := range group {
					o.values = append(o.values, str(v, "value"))
				}
				continue
			}
			o.values = append(o.values, str(value, "value"))
		}
		all = append(all, o)
	}
	return all
}

func optionIDs(v any) []string {
	var ids []string
	for _, o := range options(v) {
		ids = append(ids, o.id)
	}
	return ids
}

func findOption(v any, id string) *option {
	all := options(v)
	if i := slices.IndexFunc(all, func(o *option) bool { return o.id == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// other returns a value other than the current one, or nil.
func (o *option) other() any {
	if o.boolean {
		return o.current != true
	}
	for _, v := range o.values {
		if v != o.current {
			return v
		}
	}
	return nil
}

// set returns the parameters that set the option to a value.
func (o *option) set(session string, value any) object {
	params := object{"sessionId": session, "configId": o.id, "value": value}
	if _, ok := value.(bool); ok {
		params["type"] = "boolean"
	}
	return params
}

// anyOption returns an option with two values. It skips the check if there is none.
func (p *peer) anyOption(result any) *option {
	for _, o := range options(result) {
		if o.other() != nil && !o.boolean {
			return o
		}
	}
	p.t.skipAs(ReasonNotAdvertised, "not advertised: a config option with two values")
	return nil
}

// otherMode returns a mode that is not the current one, or "".
func otherMode(result any) string {
	current := str(result, "modes", "currentModeId")
	for _, m := range list(result, "modes", "availableModes") {
		if id := str(m, "id"); id != current {
			return id
		}
	}
	return ""
}
