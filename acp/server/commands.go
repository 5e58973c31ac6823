package server

import (
	"crypto/sha256"
	"io"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/userfiles"
)

// commandSources returns the locations of the command files and skills of a session with these directories, the working directory
// first.
func (o *SessionOptions) commandSources(roots []string, skills commands.SkillOptions, plugins userfiles.Plugins) commands.Options {
	return commands.Options{UserDir: o.UserDir, ProjectDirs: roots, Foreign: true, Home: o.Home, CodexHome: o.CodexHome, Skills: skills, Plugins: plugins}
}

// storedCommandSources is commandSources with the settings of the working directory.
func (o *SessionOptions) storedCommandSources(roots []string) commands.Options {
	cwd := ""
	if len(roots) > 0 {
		cwd = roots[0]
	}
	set, _ := o.settings(cwd) // sessions report the mistakes
	return o.commandSources(roots, set.Skills, o.plugins(roots))
}

// commandSession implements [slash.Session].
type commandSession struct {
	*session
	models *models
}

var _ slash.Session = commandSession{}

// Change implements [slash.Session].
func (c commandSession) Change(session *agent.Session, change agent.Change) (*agent.Snapshot, error) {
	before, err := session.Snapshot()
	if err != nil {
		return nil, err
	}
	var snap agent.Snapshot
	err = session.Change(change, func(now agent.Snapshot, changed bool) {
		snap = now
		if !changed {
			return
		}
		if now.Mode != before.Mode {
			c.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(now.Mode)})
		}
		if now.Model.Ref() != before.Model.Ref() {
			c.models.preconnect(now.Model)
		}
		c.config.send(&now)
	})()
	return &snap, err
}

// TitleChanged implements [slash.Session].
func (c commandSession) TitleChanged(snap *agent.Snapshot) {
	c.out.send(infoUpdate(snap.Title, snap.UpdatedAt))
}

// ShowsCompaction implements [slash.Session].
func (c commandSession) ShowsCompaction() bool { return c.out.compaction }

// Warn implements [slash.Session].
func (c commandSession) Warn(title, detail string) {
	c.out.notice(agent.SeverityWarning, title, detail)
}

// advertised records the slash commands that the client received last.
type advertised struct {
	sending sync.Mutex // held while lists are compared and sent
	mu      sync.Mutex // guards list
	list    commandsSum
}

// commandsUpdate returns the update with all slash commands of the session. The caller must send it.
func (s *session) commandsUpdate(o *opened) *acp.AvailableCommandsUpdate {
	u := &acp.AvailableCommandsUpdate{AvailableCommands: o.commands.Available()}
	s.advertised.mu.Lock()
	defer s.advertised.mu.Unlock()
	s.advertised.list = sumCommands(u.AvailableCommands)
	return u
}

// advertise sends the slash commands if they have changed.
func (s *session) advertise(o *opened) {
	s.advertised.sending.Lock()
	defer s.advertised.sending.Unlock()
	s.advertised.mu.Lock()
	before := s.advertised.list
	s.advertised.mu.Unlock()
	if u := s.commandsUpdate(o); before != sumCommands(u.AvailableCommands) {
		s.out.send(u)
	}
}

// commandsSum is a checksum of a list of commands, which is much smaller.
type commandsSum [sha256.Size]byte

func sumCommands(list []acp.AvailableCommand) (sum commandsSum) {
	h := sha256.New()
	for _, c := range list {
		_, _ = io.WriteString(h, c.Name+"\x00"+c.Description+"\x00") // a hash takes everything
	}
	h.Sum(sum[:0])
	return sum
}

// refreshCommands reads changed command files in the background and advertises their commands.
func (s *session) refreshCommands(o *opened, tasks *background) {
	tasks.run(func() { // ends when the files are read, or with the session
		s.out.flush() // a waiting response takes precedence
		o.commands.Files(s.out.ctx)
		s.advertise(o)
	})
}
