package chat

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
)

// opened is a session that was opened.
type opened struct {
	id      acp.SessionID
	options []acp.SessionConfigOption
	// replayed says that its updates include the conversation.
	replayed bool
}

// open opens the session in place of the current one, and calls then; with nil after an error, which it shows.
func (c *chat) open(s *headless.Session, then func(*opened)) {
	before := c.id
	c.start(&work{opens: true}, func(ctx context.Context) func() {
		o, err := c.opening(ctx, s)
		if err == nil && before != "" && before != o.id {
			// The old session has nothing that runs. If closing it fails, it ends with the connection.
			_, _ = acp.MethodSessionClose.Call(ctx, c.conn, &acp.CloseSessionRequest{SessionID: before})
		}
		return func() {
			early := c.early
			c.early = nil
			if err != nil {
				c.fail(err)
				then(nil)
				return
			}
			c.id = o.id
			c.view.reset(o.options)
			then(o)
			c.replay(o, early)
		}
	})
}

// opening opens a session. It runs outside of the chat's goroutine.
func (c *chat) opening(ctx context.Context, s *headless.Session) (*opened, error) {
	if c.id == "" {
		var meta acp.Meta
		if err := meta.Set(content.TurnsMeta, true); err != nil {
			return nil, err
		}
		if _, err := acp.MethodInitialize.Call(ctx, c.conn, &acp.InitializeRequest{
			ProtocolVersion: 1, ClientInfo: &acp.Implementation{Name: "gjc-chat", Version: c.opts.Version},
			ClientCapabilities: acp.ClientCapabilities{
				Meta:        meta,
				Session:     &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}, Compaction: &acp.CompactionCapabilities{}},
				Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}},
			},
		}); err != nil {
			return nil, err
		}
	}
	o := new(opened)
	var err error
	if s.Resume != "" {
		var r *acp.LoadSessionResponse
		r, err = acp.MethodSessionLoad.Call(ctx, c.conn, &acp.LoadSessionRequest{
			SessionID: s.Resume, Cwd: s.Cwd, AdditionalDirectories: s.Additional, SystemPrompt: s.System, MCPServers: []acp.MCPServer{},
		})
		if err == nil {
			o.id, o.options, o.replayed = s.Resume, r.ConfigOptions, true
		}
	} else {
		o.id, o.options, err = s.Open(ctx, c.conn)
	}
	if err != nil {
		return nil, err
	}
	o.options, err = s.Configure(ctx, c.conn, o.id, o.options)
	return o, err
}

// opened is called when the first session is open.
func (c *chat) opened(o *opened) {
	if o == nil {
		c.over, c.err = true, errFirst
		return
	}
	c.view.line(c.view.join(c.view.bold("gjc "+c.opts.Version), c.view.dim(c.view.join(headless.Current(o.options, "model"), cleanLine(c.view.cwd)))))
	if c.opts.Terminal.Interactive {
		c.view.line(c.view.dim("/help lists commands and keys; Ctrl-D ends"))
	}
}

// reset forgets the session before.
func (v *view) reset(options []acp.SessionConfigOption) {
	v.calls, v.plan, v.usage, v.title = make(map[acp.ToolCallID]*call), "", acp.UsageUpdate{}, ""
	v.options, v.mode = options, acp.SessionModeID(headless.Current(options, "mode"))
}

// lastTurns is the number of turns that are shown of a conversation that is opened.
const lastTurns = 2

// replay shows the last turns of a session that was opened, and applies the other updates.
func (c *chat) replay(o *opened, early []*acp.SessionNotification) {
	var updates []acp.SessionUpdate
	var turns []int // where they begin
	var last acp.MessageID
	for _, n := range early {
		if n.SessionID != o.id {
			continue
		}
		if u, ok := n.Update.(*acp.UserMessageChunk); ok && (u.MessageID == "" || u.MessageID != last) {
			last = u.MessageID
			turns = append(turns, len(updates))
		}
		updates = append(updates, n.Update)
	}
	from := 0
	if n := len(turns) - lastTurns; n > 0 && o.replayed {
		from = turns[n]
		c.view.line(c.view.dim(fmt.Sprintf("%s%d earlier prompts", c.view.mark("… ", "... "), n)))
	}
	for i, u := range updates {
		switch u.(type) {
		case *acp.AvailableCommandsUpdate, *acp.ConfigOptionUpdate, *acp.CurrentModeUpdate, *acp.UsageUpdate, *acp.SessionInfoUpdate, *acp.Notice:
			c.view.update(u)
		default:
			if i >= from {
				c.view.update(u)
			}
		}
	}
	c.view.finish()
}

// resume lists the sessions of the directory, or opens one of them, given by its number in the list or the beginning of its ID.
func (c *chat) resume(name string) {
	number, err := strconv.Atoi(name)
	if err != nil || number > maxListed {
		number = 0
	}
	c.start(new(work), func(ctx context.Context) func() {
		list := acp.ListSessionsRequest{Cwd: c.opts.Session.Cwd}
		if name != "" && number == 0 {
			list.Cwd = "" // an ID may be of another directory
		}
		var found []acp.SessionInfo
		for {
			r, err := acp.MethodSessionList.Call(ctx, c.conn, &list)
			if err != nil {
				return func() { c.fail(err) }
			}
			for i := range r.Sessions {
				s := &r.Sessions[i]
				if s.SessionID != c.id && (list.Cwd != "" || strings.HasPrefix(string(s.SessionID), name)) {
					found = append(found, *s)
				}
			}
			if list.Cursor = r.NextCursor; list.Cursor == "" || list.Cwd != "" && len(found) >= maxListed {
				break
			}
		}
		return func() { c.found(name, number, found) }
	})
}

// maxListed is the number of sessions that /resume lists.
const maxListed = 20

func (c *chat) found(name string, number int, found []acp.SessionInfo) {
	switch {
	case number > 0 && number <= len(c.listed): // what the user sees
		c.load(&c.listed[number-1])
		return
	case number > 0 && number <= len(found):
		c.load(&found[number-1])
		return
	case name != "" && number == 0 && len(found) == 1:
		c.load(&found[0])
		return
	case name != "" && (number > 0 || len(found) == 0):
		c.view.line("there is no session " + cleanLine(name) + "; /resume lists those of this directory")
		return
	case len(found) == 0:
		c.view.line("there is no other session in this directory")
		return
	}
	c.listed = found[:min(len(found), maxListed)]
	for i := range c.listed {
		s := &c.listed[i]
		updated, _ := time.Parse(time.RFC3339, s.UpdatedAt) // the server's
		title := clip(cleanLine(s.Title), 60)
		c.view.line(fmt.Sprintf("%4d  %s  %s  %s", i+1, updated.Local().Format("2006-01-02 15:04"), c.view.dim(cleanLine(string(s.SessionID))), title))
	}
	c.view.line(c.view.dim("/resume and a number opens one"))
}

// load opens a stored session.
func (c *chat) load(s *acp.SessionInfo) {
	session := &headless.Session{Cwd: s.Cwd, Additional: s.AdditionalDirectories, Resume: s.SessionID}
	c.open(session, func(o *opened) {
		if o != nil {
			c.view.cwd = session.Cwd
			c.opts.Session.Cwd = session.Cwd
			c.view.line(c.view.note(cleanLine(s.Title), headless.Current(o.options, "model")))
		}
	})
}
