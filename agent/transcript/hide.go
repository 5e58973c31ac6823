package transcript

import (
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// hide replaces secrets in what is known of the session as a whole.
func (d *document) hide() {
	s := *d.Session
	hide := s.Hide
	s.Title, s.Cwd, s.Parent, s.Model = hide(s.Title), hide(s.Cwd), hide(s.Parent), hide(s.Model)
	s.Directories = nil
	for _, dir := range d.Directories {
		s.Directories = append(s.Directories, hide(dir))
	}
	plan := make([]agent.PlanEntry, len(d.plan))
	for i, e := range d.plan {
		e.Content, e.Phase = hide(e.Content), hide(e.Phase)
		plan[i] = e
	}
	d.Session, d.plan = &s, plan
}

// hideItem replaces secrets in an item.
func (d *document) hideItem(it *item) {
	hide := d.Hide
	it.Label, it.Model, it.Value, it.Error, it.StopReason = hide(it.Label), hide(it.Model), hide(it.Value), hide(it.Error), hide(it.StopReason)
	hideBlocks(it.Content, hide)
}

func hideBlocks(blocks []block, hide func(string) string) {
	for i := range blocks {
		b := &blocks[i]
		for _, text := range []*string{&b.Text, &b.Path, &b.URI, &b.CallID, &b.Name, &b.Title, &b.Kind, &b.MIMEType} {
			*text = hide(*text)
		}
		for _, text := range []**string{&b.OldText, &b.NewText} {
			if *text != nil {
				hidden := hide(**text)
				*text = &hidden
			}
		}
		b.Input, b.Output = hideData(b.Input, hide), hideData(b.Output, hide)
		for k := range b.Locations {
			b.Locations[k].Path = hide(b.Locations[k].Path)
		}
		for k := range b.Entries {
			e := &b.Entries[k]
			e.Content, e.Phase = hide(e.Content), hide(e.Phase)
		}
		hideBlocks(b.Content, hide)
	}
}

// hideData replaces secrets in JSON. If it is none afterwards, for a secret that spells syntax, nothing of it stays.
func hideData(data jsonx.Raw, hide func(string) string) jsonx.Raw {
	if len(data) == 0 {
		return data
	}
	hidden := jsonx.Raw(hide(string(data)))
	if jsonx.Valid(data) && !jsonx.Valid(hidden) {
		return jsonx.Raw(`"not shown: it contains a secret"`)
	}
	return hidden
}
