package conformance

import (
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// sessions lists all stored sessions, page by page.
func (p *peer) sessions(params object) []any {
	var all []any
	seen := make(map[string]bool)
	for range 1000 {
		r := p.call("session/list", params)
		all = append(all, list(r, "sessions")...)
		cursor := str(r, "nextCursor")
		if cursor == "" {
			return all
		}
		if seen[cursor] {
			p.t.failf("session/list gave the cursor %q twice", cursor)
		}
		seen[cursor] = true
		next := object{"cursor": cursor}
		maps.Copy(next, params)
		params = next
		params["cursor"] = cursor
	}
	p.t.failf("session/list does not come to an end")
	return nil
}

func listed(sessions []any, id string) any {
	for _, s := range sessions {
		if str(s, "sessionId") == id {
			return s
		}
	}
	return nil
}

// stored starts an agent with a capability and n sessions that have a turn each.
func (t *trial) stored(n int, path ...string) (*peer, []string) {
	p := t.agent(bare)
	p.needs("sessionCapabilities", "list")
	if len(path) > 0 {
		p.needs(path...)
	}
	var ids []string
	for range n {
		id := p.newSession()
		p.purpose(id, PurposeSay, "text", "stored").stop()
		ids = append(ids, id)
	}
	return p, ids
}

var listChecks = []Check{
	{"session.list.as-advertised", TierMust, "session/list is there if advertised, and else refused with -32601.", pageList, asAdvertised("session/list", func(*peer) object { return object{} }, "sessionCapabilities", "list")},
	{"session.list.empty", TierCapability, "Where there is no session, the list is an empty array.", pageList, func(t *trial) {
		p := t.agent(bare)
		p.needs("sessionCapabilities", "list")
		r := p.call("session/list", object{"cwd": filepath.Join(t.dir, "nobody-was-here")})
		if s, ok := at(r, "sessions").([]any); !ok || len(s) != 0 {
			t.failf("the list is %s", excerpt(r))
		}
	}},
	{"session.list.has", TierCapability, "A session with a turn is listed.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		if listed(p.sessions(object{}), ids[0]) == nil {
			t.failf("the session %s is not listed", ids[0])
		}
	}},
	{"session.list.cwd", TierCapability, "A listed session has its cwd.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		if s := listed(p.sessions(object{}), ids[0]); s != nil && str(s, "cwd") != p.work {
			t.failf("the session in %s is listed as %s", p.work, excerpt(s))
		}
	}},
	{"session.list.updated", TierCapability, "updatedAt is a time as ISO 8601 writes it.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		v := at(listed(p.sessions(object{}), ids[0]), "updatedAt")
		if v == nil {
			t.notSeen("the listed session has no updatedAt")
		}
		s, _ := v.(string)
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			t.failf("updatedAt is %s", excerpt(v))
		}
	}},
	{"session.list.other-process", TierCapability, "Another process lists the sessions too.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		p.closeStdin()
		p.exits()
		q := t.agent(bare)
		if listed(q.sessions(object{}), ids[0]) == nil {
			t.failf("the session %s is not listed by another process", ids[0])
		}
	}},
	{"session.list.filter", TierCapability, "With a cwd the list has the sessions of that directory.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		if listed(p.sessions(object{"cwd": p.work}), ids[0]) == nil {
			t.failf("the session %s is not listed for its cwd", ids[0])
		}
	}},
	{"session.list.filter-others", TierCapability, "With a cwd the list has no sessions of other directories.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		for _, cwd := range []string{filepath.Dir(p.work), p.work + "-other", filepath.Join(p.work, "sub")} {
			if listed(p.sessions(object{"cwd": cwd}), ids[0]) != nil {
				t.failf("the session in %s is listed for %s", p.work, cwd)
			}
		}
	}},
	{"session.list.pages", TierCapability, "The pages have every session once.", pageList, func(t *trial) {
		p, ids := t.stored(5)
		all := p.sessions(object{})
		for _, id := range ids {
			if n := len(slices.DeleteFunc(slices.Clone(all), func(s any) bool { return str(s, "sessionId") != id })); n != 1 {
				t.failf("the session %s is listed %d times", id, n)
			}
		}
	}},
	{"session.list.null-cursor", TierCapability, "A null cursor and a null cwd are as if they were not there.", pageList, func(t *trial) {
		p, ids := t.stored(1)
		if listed(p.sessions(object{"cursor": nil, "cwd": nil}), ids[0]) == nil {
			t.failf("the session %s is not listed", ids[0])
		}
	}},
	{"session.list.bad-cursor", TierCapability, "A cursor that was never issued is refused.", pageList, func(t *trial) {
		p := t.agent(bare)
		p.needs("sessionCapabilities", "list")
		p.fails("session/list", object{"cursor": "never-issued-by-anybody"})
		p.lives()
	}},
	{"session.list.closed", TierCapability, "A closed session stays in the list.", pageList, func(t *trial) {
		p, ids := t.stored(1, "sessionCapabilities", "close")
		p.call("session/close", object{"sessionId": ids[0]})
		if listed(p.sessions(object{}), ids[0]) == nil {
			t.failf("the closed session %s is not listed", ids[0])
		}
	}},
	{"session.list.directories", TierCapability, "A listed session has its additional directories.", pageList, func(t *trial) {
		p := t.agent(bare)
		p.needs("sessionCapabilities", "list")
		p.needs("sessionCapabilities", "additionalDirectories")
		params := setup(p.work)
		params["additionalDirectories"] = []any{t.dir}
		id := str(p.call("session/new", params), "sessionId")
		p.purpose(id, PurposeSay, "text", "stored").stop()
		if s := listed(p.sessions(object{}), id); s != nil && str(s, "additionalDirectories", 0) != t.dir {
			t.failf("the session was given the directory %s and is listed as %s", t.dir, excerpt(s))
		}
	}},
}
