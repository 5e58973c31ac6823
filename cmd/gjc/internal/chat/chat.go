// Package chat is a conversation with the agent on a terminal, line by line. It is a client of the server that editors talk to, in the same
// process.
//
// One goroutine owns the screen and all state. Others only wait: for keys, for the server's messages and for the answers to requests.
package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
)

// Options describe a chat.
type Options struct {
	Serve headless.ServeFunc
	// Version is the version of gjc.
	Version  string
	Session  headless.Session
	Terminal *Terminal
	// History has the lines of earlier chats. Required.
	History *lineedit.History
	// Signals receives the signals that the process has got. An interrupt is like Ctrl-C; others end the chat.
	Signals <-chan os.Signal
}

// chat is the state of a conversation. It belongs to the goroutine of Run.
type chat struct {
	opts   *Options
	ctx    context.Context //nolint:containedctx // that of Run, for the work that it starts
	conn   *acp.ClientConn
	client *client
	view   *view
	editor *lineedit.Editor
	keys   <-chan lineedit.Key // nil after the end of the input
	raw    bool

	id   acp.SessionID
	work *work
	// early are updates of a session that is being opened, whose ID may not be known yet.
	early   []*acp.SessionNotification
	dialog  dialog
	waiting []dialog // those after it
	// guarded says that the user was typing something else when the dialog was shown, so that keys are for it only after Tab.
	guarded bool
	ahead
	pictures []acp.ContentBlock
	listed   []acp.SessionInfo // by /resume
	// interrupted says that the last key was Ctrl-C in an empty line.
	interrupted, over bool
	err               error
}

// ahead holds the user's input from before the chat wants it.
type ahead struct {
	draft string         // the line that was edited when the agent began a turn
	typed []lineedit.Key // while the agent works
}

// work is the opening of a session, a turn or another request, for whose end the chat waits.
type work struct {
	cancel    context.CancelFunc
	cancelled bool
	opens     bool        // a session
	turn      bool        // which the server ends when the client cancels it
	done      chan func() // receives what is to be done at the end
	own       bool        // a turn that the agent has begun, without a prompt
}

// The states of an agent that works.
const (
	working    = "working; Ctrl-C cancels"
	cancelling = "cancelling; Ctrl-C again ends gjc"
)

// Run lets the user talk with the agent until the user ends it, or its input ends. A turn that runs then is cancelled and stored. It ignores
// the end of ctx.
func Run(ctx context.Context, opts *Options) error {
	t := opts.Terminal
	c := &chat{opts: opts, ctx: context.WithoutCancel(ctx), raw: t.Raw != nil, client: &client{events: make(chan event), ended: make(chan struct{})}}
	c.view = newView(&screen{style: t.style(), out: t.Out, raw: c.raw, size: t.Size}, opts.Session.Cwd)
	c.editor = &lineedit.Editor{History: opts.History, Complete: c.complete}
	restore, err := c.takeTerminal()
	if err != nil {
		return err
	}
	defer func() { restore() }()
	conn, end := headless.Connect(c.ctx, opts.Serve, c.client)
	c.conn = conn
	done := make(chan struct{})
	keys := make(chan lineedit.Key)
	go func() { // ends with the input, or with the process
		defer close(keys)
		c.read(keys, done)
	}()
	c.keys = keys
	c.open(&opts.Session, c.opened)
	for c.ready(); !c.over && c.view.err == nil; c.ready() {
		c.next(&restore)
	}
	close(done)
	if c.work != nil {
		c.work.cancel()
	}
	c.view.hide()
	if c.opts.Terminal.Interactive {
		c.view.write(c.view.fresh())
	}
	close(c.client.ended)
	if err := end(); err != nil && c.err == nil {
		c.err = fmt.Errorf("ending the session: %w", err)
	}
	return errors.Join(c.err, c.view.err)
}

// bracketedPaste makes a terminal mark pasted text; see XTerm Control Sequences, "Bracketed Paste Mode".
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// takeTerminal makes the terminal send each key. The caller must call restore.
func (c *chat) takeTerminal() (restore func(), err error) {
	if !c.raw {
		return func() {}, nil
	}
	undo, err := c.opts.Terminal.Raw()
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	c.view.write(pasteOn)
	return func() {
		c.view.write(pasteOff)
		undo()
	}, nil
}

// read reads keys, or lines.
func (c *chat) read(keys chan<- lineedit.Key, done <-chan struct{}) {
	if c.raw {
		_ = lineedit.ReadKeys(c.opts.Terminal.In, done, keys) // a terminal that cannot be read has gone
		return
	}
	in := bufio.NewScanner(c.opts.Terminal.In)
	in.Buffer(nil, lineedit.MaxPaste)
	for in.Scan() {
		select {
		case keys <- lineedit.Key{Code: lineedit.Line, Text: strings.TrimSuffix(in.Text(), "\r")}:
		case <-done:
			return
		}
	}
}

// next waits for something and handles it.
func (c *chat) next(restore *func()) {
	var done <-chan func()
	if c.work != nil {
		done = c.work.done
	}
	keys := c.keys
	if !c.raw && c.work != nil && c.dialog == nil {
		keys = nil // lines stay in the input until they are wanted
	}
	var withdrawn <-chan struct{}
	if c.dialog != nil {
		withdrawn = c.dialog.withdrawn()
	}
	select {
	case e := <-c.client.events:
		c.event(e)
	case finish := <-done:
		c.work = nil
		c.view.doing("")
		finish()
	case k, ok := <-keys:
		switch {
		case !ok:
			c.keys = nil
			c.over = true
		case k.Code == lineedit.Suspend:
			c.suspend(restore)
		default:
			if k.Code == lineedit.Line {
				c.view.within = false // the user has ended the line
			}
			c.key(k)
		}
	case <-withdrawn:
		c.settled(c.view.dim("  the question is withdrawn"))
	case s := <-c.opts.Signals:
		if s != os.Interrupt {
			c.over = true
			return
		}
		c.view.within = c.view.within || c.opts.Terminal.Interactive // the terminal shows ^C
		c.interrupt()
	case <-c.opts.Terminal.Resized:
		c.view.hide()
		c.view.show()
	case <-c.conn.Done():
		c.over = true
		c.err = errors.New("the agent has ended")
	}
}

// ready shows the prompt if the user may type.
func (c *chat) ready() {
	switch {
	case c.work != nil || c.dialog != nil || c.over:
	case !c.raw:
		if c.opts.Terminal.Interactive && !c.view.within {
			c.view.print(c.promptText())
		}
	case c.view.editor == nil:
		c.editor.Begin(c.draft)
		c.draft = ""
		c.view.edit(c.editor, c.promptText())
		typed := c.typed
		c.typed = nil
		for i, k := range typed {
			if c.work != nil || c.dialog != nil || c.over { // one of the keys was Enter
				c.typed = append(c.typed, typed[i:]...)
				return
			}
			c.edit(k)
		}
	}
}

// promptText returns the beginning of the user's line: the mode, if it is not the usual one, and a sign.
func (c *chat) promptText() string {
	mode := ""
	if c.view.mode != "" && c.view.mode != "default" {
		mode = c.view.yellow(cleanLine(string(c.view.mode))) + " "
	}
	for range c.pictures {
		mode += c.view.dim("[picture]") + " "
	}
	return mode + c.view.bold(">") + " "
}

func (c *chat) event(e event) {
	switch e := e.(type) {
	case *acp.SessionNotification:
		switch {
		case c.work != nil && c.work.opens && e.SessionID != c.id:
			c.early = append(c.early, e)
		case e.SessionID == c.id:
			c.ownTurn(e.Update)
			c.view.update(e.Update)
		}
	case dialog:
		c.waiting = append(c.waiting, e)
		c.ask()
	}
}

// maxTyped bounds the keys that are kept while the agent works.
const maxTyped = 4096

func (c *chat) key(k lineedit.Key) {
	switch {
	case c.dialog != nil:
		c.dialogKey(k)
	case c.work == nil:
		c.edit(k)
	case k.Code == lineedit.Interrupt:
		c.typed = nil
		c.interrupt()
	case len(c.typed) < maxTyped:
		c.typed = append(c.typed, k)
		if !c.work.cancelled {
			c.view.busy = working + "; next: " + typedText(c.typed)
			c.view.doing(c.view.busy)
		}
	}
}

// typedText returns roughly the text that keys will make.
func typedText(keys []lineedit.Key) string {
	var text []rune
	for _, k := range keys {
		switch {
		case k.Text != "":
			text = append(text, []rune(cleanLine(k.Text))...)
		case k.Code == lineedit.Enter || k.Code == lineedit.NewLine:
			text = append(text, ' ')
		case k.Code == lineedit.Backspace && len(text) > 0:
			text = text[:len(text)-1]
		}
	}
	return string(text)
}

// edit gives a key to the line.
func (c *chat) edit(k lineedit.Key) {
	outcome := c.editor.Press(k)
	if outcome != lineedit.Interrupted {
		c.interrupted = false
	}
	switch outcome {
	case lineedit.Submitted:
		c.view.leave()
		c.submit(c.editor.Text())
	case lineedit.Interrupted:
		c.interrupt()
	case lineedit.Ended:
		c.view.leave()
		c.over = true
	case lineedit.Cleared:
		c.view.clear()
	case lineedit.Listed:
		c.view.print(columns(c.editor.Candidates(), c.width()))
	default:
		c.view.show()
	}
}

func (c *chat) width() int {
	columns, _ := c.opts.Terminal.Size()
	return columns
}

// interrupt cancels what runs; the second time it ends the chat.
func (c *chat) interrupt() {
	switch {
	case c.work == nil && c.dialog == nil:
		if c.interrupted || !c.raw {
			c.over = true
			return
		}
		c.interrupted = true
		c.view.leave()
		c.view.line(c.view.dim("Ctrl-C again, or Ctrl-D, ends gjc"))
	case c.work == nil:
		c.cancelAll()
	case c.work.cancelled:
		c.over = true
	default:
		c.work.cancelled = true
		c.work.cancel()
		c.cancelAll()
		c.view.finish()
		c.view.busy = cancelling
		c.view.doing(cancelling)
	}
}

// suspend stops the process as a shell's user expects it of Ctrl-Z.
func (c *chat) suspend(restore *func()) {
	if c.opts.Terminal.Suspend == nil {
		return
	}
	c.view.hide()
	(*restore)()
	c.opts.Terminal.Suspend()
	again, err := c.takeTerminal()
	if err != nil {
		*restore = func() {}
		c.over, c.err = true, err
		return
	}
	*restore = again
	c.view.show()
}

// start begins work. Run is called in its own goroutine, and what it returns in the chat's. Its context ends when the user cancels.
func (c *chat) start(w *work, run func(ctx context.Context) (finish func())) {
	ctx, cancel := context.WithCancel(c.ctx)
	w.cancel, w.done = cancel, make(chan func(), 1)
	go func() { // ends with the request, at the latest with the connection
		defer cancel()
		w.done <- run(ctx)
	}()
	c.work = w
	c.view.busy = working
	c.view.doing(working)
}

// submit sends what the user has entered.
func (c *chat) submit(line string) {
	text := strings.TrimSpace(line)
	if text == "" && len(c.pictures) == 0 {
		return
	}
	if !strings.HasPrefix(line, " ") { // as shells do it
		if err := c.opts.History.Add(c.ctx, text); err != nil {
			c.fail(err)
		}
	}
	if c.local(text) {
		return
	}
	blocks := append(c.attached(text), c.pictures...)
	c.pictures = nil
	id := c.id
	c.start(&work{turn: true}, func(context.Context) func() {
		r, err := headless.Prompt(c.ctx, c.conn, id, blocks)
		return func() { c.answered(r, err) }
	})
}

// answered ends a turn.
func (c *chat) answered(r *acp.PromptResponse, err error) {
	c.view.finish()
	c.view.part = nothing
	c.view.calls = make(map[acp.ToolCallID]*call)
	if err != nil {
		c.fail(err)
		return
	}
	footer := c.view.footer()
	switch r.StopReason {
	case acp.StopReasonEndTurn:
	case acp.StopReasonCancelled:
		footer = c.view.join("cancelled", footer)
	case acp.StopReasonMaxTokens:
		c.view.line(c.view.yellow("!") + " the answer is incomplete: it has reached the limit of the model's output")
	case acp.StopReasonMaxTurnRequests:
		c.view.line(c.view.yellow("!") + " the turn has reached the limit of requests; say \"go on\" to continue")
	case acp.StopReasonRefusal:
		c.view.line(c.view.yellow("!") + " the model refused; the prompt is not part of the conversation")
	default:
		c.view.line(c.view.yellow("!") + " the turn has ended: " + cleanLine(string(r.StopReason)))
	}
	if footer != "" && (c.raw || r.StopReason == acp.StopReasonCancelled) {
		c.view.line(c.view.dim(footer))
	}
}

// fail shows an error.
func (c *chat) fail(err error) {
	c.view.finish()
	c.view.line(c.view.red("error:") + " " + clean(err.Error()))
}

// columns shows a list in columns.
func columns(list []string, width int) string {
	const most = 100
	more := len(list) - most
	list = slices.Clone(list[:min(len(list), most)])
	widest := 0
	for i := range list {
		list[i] = cleanLine(list[i])
		widest = max(widest, lineedit.Width(list[i]))
	}
	per := max(1, width/(widest+2))
	var b strings.Builder
	for i, item := range list {
		b.WriteString(item)
		if i%per == per-1 || i == len(list)-1 {
			b.WriteByte('\n')
		} else {
			b.WriteString(strings.Repeat(" ", widest+2-lineedit.Width(item)))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}

// errFirst is returned after the first session could not be opened, for a reason that was shown.
var errFirst = errors.New("the session could not be opened")
