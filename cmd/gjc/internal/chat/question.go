package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
)

// dialog is a request of the agent that the user answers. All methods are called by the chat's goroutine.
type dialog interface {
	// show shows it.
	show(c *chat)
	// key acts on a key, or a line, while it is shown.
	key(c *chat, k lineedit.Key)
	// withdrawn is closed when the agent no longer needs the answer.
	withdrawn() <-chan struct{}
	// cancel answers that the turn is cancelled.
	cancel()
}

// ask shows the next dialog, if none is shown.
func (c *chat) ask() {
	if c.dialog != nil || len(c.waiting) == 0 {
		return
	}
	c.guarded = len(c.typed) > 0 || c.view.editor != nil && c.editor.Text() != ""
	c.view.edit(nil, "")
	c.view.finish()
	c.dialog, c.waiting = c.waiting[0], c.waiting[1:]
	if c.guarded {
		c.view.line(c.view.dim("(you were typing: press Tab before you answer)"))
	}
	c.dialog.show(c)
}

// dialogKey acts on a key while a dialog is shown.
func (c *chat) dialogKey(k lineedit.Key) {
	switch {
	case c.guarded && k.Code == lineedit.Tab:
		c.guarded = false
	case c.guarded && k.Code != lineedit.Interrupt:
		c.typed = append(c.typed, k)
	default:
		c.dialog.key(c, k)
	}
}

// expect says that a dialog waits for a key, or a line.
func (c *chat) expect() {
	c.view.doing("waiting for your answer")
	if !c.raw && c.opts.Terminal.Interactive {
		c.view.print("? ")
	}
}

// settled ends the dialog.
func (c *chat) settled(line string) {
	c.dialog = nil
	c.view.edit(nil, "")
	c.view.line(line)
	c.view.doing("")
	if c.work != nil {
		c.view.doing(c.view.busy)
	}
	c.ask()
}

// cancelAll cancels the turn that runs, and answers all dialogs as the protocol requires it then.
func (c *chat) cancelAll() {
	all := c.waiting
	if c.dialog != nil {
		all = append([]dialog{c.dialog}, all...)
	}
	c.waiting = nil
	id, turn := c.id, c.work != nil && c.work.turn
	go func() { // ends when the server has read the message, at the latest with the connection
		if turn { // before the answers, with which it could go on
			_ = acp.MethodSessionCancel.Notify(c.ctx, c.conn, &acp.CancelNotification{SessionID: id})
		}
		for _, d := range all {
			d.cancel()
		}
	}()
	if c.dialog != nil {
		c.settled(c.view.dim("  cancelled"))
	}
}

// question is a permission request, or a choice between texts.
type question struct {
	*waiter[*acp.RequestPermissionResponse]
	request *acp.RequestPermissionRequest
	choices []choice
	// reason is the line with the reason of a rejection; nil before it is wanted.
	reason *lineedit.Editor
}

// choice is an answer and the key that chooses it.
type choice struct {
	key    string
	option acp.PermissionOption
}

// choicesOf gives each option a key: a letter for what it does, or a number if options do the same, as in a choice between texts.
func choicesOf(options []acp.PermissionOption) []choice {
	letters := map[acp.PermissionOptionKind]string{
		acp.PermissionOptionKindAllowOnce: "y", acp.PermissionOptionKindAllowAlways: "a",
		acp.PermissionOptionKindRejectOnce: "n", acp.PermissionOptionKindRejectAlways: "d",
	}
	var choices []choice
	numbered := false
	for _, o := range options {
		key := letters[o.Kind]
		if o.OptionID == "allow_workspace" {
			key = "w"
		}
		numbered = numbered || key == "" || slices.ContainsFunc(choices, func(c choice) bool { return c.key == key })
		choices = append(choices, choice{key, o})
	}
	if numbered {
		for i := range choices {
			choices[i].key = strconv.Itoa(i + 1)
		}
	}
	return choices
}

// rejection returns the option that rejects this once.
func (q *question) rejection() (acp.PermissionOption, bool) {
	for _, c := range q.choices {
		if c.option.Kind == acp.PermissionOptionKindRejectOnce {
			return c.option, true
		}
	}
	return acp.PermissionOption{}, false
}

// explains reports whether a rejection may have a reason.
func (q *question) explains() bool {
	o, ok := q.rejection()
	return ok && o.OptionID == "reject_once"
}

func (q *question) show(c *chat) {
	q.choices = choicesOf(q.request.Options)
	call := &q.request.ToolCall
	parts, _ := call.Content.Get()
	title := cleanLine(call.Title.Or(""))
	if known := c.view.calls[call.ToolCallID]; known != nil {
		known.asked = true
		if cleanLine(known.title) == title { // it stands above
			title = "Allow it?"
		}
	}
	var b strings.Builder
	b.WriteString(c.view.diffs(parts))
	for _, more := range textsOf(parts) {
		if more != call.Title.Or("") && more != "$ "+call.Title.Or("") {
			b.WriteString(c.view.head(more, maxDiff))
		}
	}
	b.WriteString(c.view.yellow("?") + " " + c.view.bold(title) + "\n")
	for _, ch := range q.choices {
		b.WriteString("  " + c.view.cyan(ch.key) + "  " + cleanLine(ch.option.Name) + "\n")
	}
	if q.explains() {
		b.WriteString("  " + c.view.cyan("r") + "  Reject with a reason\n")
	}
	c.view.print(c.view.fresh() + b.String())
	c.expect()
}

func (q *question) key(c *chat, k lineedit.Key) {
	switch {
	case q.reason != nil:
		q.reasonKey(c, k)
	case k.Code == lineedit.Interrupt:
		c.interrupt()
	case k.Code == lineedit.Line:
		q.line(c, k.Text)
	case k.Code == lineedit.Escape:
		if o, ok := q.rejection(); ok {
			q.choose(c, o, "")
		}
	case k.Code == lineedit.Char:
		if q.explains() && strings.EqualFold(k.Text, "r") {
			q.reason = &lineedit.Editor{History: new(lineedit.History)}
			c.view.doing("")
			c.view.edit(q.reason, "reason: ")
			return
		}
		q.word(c, k.Text)
	}
}

// word acts on the key of a choice, and reports whether it was one.
func (q *question) word(c *chat, word string) bool {
	for _, ch := range q.choices {
		if strings.EqualFold(ch.key, word) {
			q.choose(c, ch.option, "")
			return true
		}
	}
	return false
}

// line acts on a whole line, on a terminal that sends no keys.
func (q *question) line(c *chat, line string) {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	if q.explains() && strings.EqualFold(word, "r") {
		o, _ := q.rejection()
		q.choose(c, o, strings.TrimSpace(reason))
		return
	}
	if q.word(c, word) {
		return
	}
	var keys []string
	for _, ch := range q.choices {
		keys = append(keys, ch.key)
	}
	c.view.line("answer with one of " + strings.Join(keys, ", "))
	c.expect()
}

// reasonKey acts on a key of the reason's line.
func (q *question) reasonKey(c *chat, k lineedit.Key) {
	outcome := lineedit.Interrupted
	if k.Code != lineedit.Escape {
		outcome = q.reason.Press(k)
	}
	switch outcome {
	case lineedit.Submitted:
		c.view.leave()
		o, _ := q.rejection()
		q.choose(c, o, strings.TrimSpace(q.reason.Text()))
	case lineedit.Interrupted, lineedit.Ended:
		q.reason = nil
		c.view.edit(nil, "")
		c.expect()
	default:
		c.view.show()
	}
}

// choose answers the question.
func (q *question) choose(c *chat, o acp.PermissionOption, reason string) {
	r := &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: o.OptionID}}
	if reason != "" {
		if err := r.Meta.Set(content.ReasonMeta, reason); err != nil {
			c.fail(err)
		}
	}
	q.answer <- r
	shown := c.view.green(cleanLine(o.Name))
	if o.Kind == acp.PermissionOptionKindRejectOnce || o.Kind == acp.PermissionOptionKindRejectAlways {
		shown = c.view.red(cleanLine(o.Name))
	}
	c.settled("  " + c.view.mark("→", "->") + " " + shown)
}

// page asks the user to open a page in a browser.
type page struct {
	*waiter[*acp.CreateElicitationResponse]
	message, url string
}

func (p *page) show(c *chat) {
	c.view.line(c.view.yellow("?") + " " + c.view.bold(clean(p.message)))
	c.view.line("  " + c.view.underline(cleanLine(p.url)))
	c.view.line("  " + c.view.cyan("y") + "  I open it in a browser\n  " + c.view.cyan("n") + "  Decline")
	c.expect()
}

func (p *page) key(c *chat, k lineedit.Key) {
	word := strings.ToLower(strings.TrimSpace(k.Text))
	switch {
	case k.Code == lineedit.Interrupt:
		c.interrupt()
	case word == "y":
		p.answer <- &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{}}
		c.settled("  " + c.view.mark("→", "->") + " opened")
	case word == "n" || k.Code == lineedit.Escape:
		p.answer <- &acp.CreateElicitationResponse{Action: &acp.ElicitationDeclineAction{}}
		c.settled("  " + c.view.mark("→", "->") + " " + c.view.red("declined"))
	case k.Code == lineedit.Line:
		c.expect()
	}
}
