package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

const (
	// MaxOffered bounds the tools of a set that are sent to the model: they are part of each request, and some model APIs
	// refuse more than 128 tools.
	MaxOffered = 100
	// MaxOfferedBytes bounds the names, descriptions and schemas of these tools together.
	MaxOfferedBytes = 256 << 10
	// maxPrompts bounds the prompts of a set that are listed.
	maxPrompts = 200
)

// Cut is the number of tools and prompts of one server that are omitted.
type Cut struct {
	Server         string
	Tools, Prompts int
}

// Offered returns the tools for the model: those of [Set.Tools] in the same order, within [MaxOffered] and [MaxOfferedBytes]. Tools
// are taken from the servers in turn, so that a server with many tools does not displace the others.
func (s *Set) Offered() []*Tool {
	tools, _ := s.offeredTools()
	return tools
}

// Cuts returns the number of omitted tools and prompts for each server that has any.
func (s *Set) Cuts() []Cut {
	_, tools := s.offeredTools()
	_, prompts := s.offeredPrompts()
	var cuts []Cut
	for i, srv := range s.servers {
		if tools[i]+prompts[i] > 0 {
			cuts = append(cuts, Cut{Server: srv.spec.Name, Tools: tools[i], Prompts: prompts[i]})
		}
	}
	return cuts
}

func (s *Set) offeredTools() ([]*Tool, []int) {
	return takeTurns(each(s, func(l *lists) []*Tool { return l.tools }), MaxOffered, MaxOfferedBytes, func(t *Tool) int {
		return len(t.Name) + max(len(t.Description), len(t.Title)) + len(t.Schema)
	})
}

func (s *Set) offeredPrompts() ([]Prompt, []int) {
	return takeTurns(each(s, func(l *lists) []Prompt { return l.prompts }), maxPrompts, maxPrompts, func(Prompt) int { return 1 })
}

// each returns a list of each server.
func each[T any](s *Set, of func(*lists) []T) [][]T {
	all := make([][]T, len(s.servers))
	for i, srv := range s.servers {
		srv.mu.Lock()
		if srv.offers() {
			all[i] = of(&srv.lists)
		}
		srv.mu.Unlock()
	}
	return all
}

// takeTurns takes items from the lists in turn, up to limit items with a total weight of room. It skips items that are too large.
// It returns the items, list by list, and the number of omitted items of each list.
func takeTurns[T any](all [][]T, limit, room int, weight func(T) int) (taken []T, left []int) {
	kept := make([][]T, len(all))
	left = make([]int, len(all))
	longest := 0
	for i := range all {
		longest, left[i] = max(longest, len(all[i])), len(all[i])
	}
	count := 0
	for turn := 0; turn < longest && count < limit; turn++ {
		for i, list := range all {
			if turn >= len(list) || count >= limit {
				continue
			}
			w := weight(list[turn])
			if w > room {
				continue
			}
			room -= w
			kept[i] = append(kept[i], list[turn])
			left[i]--
			count++
		}
	}
	return slices.Concat(kept...), left
}

// noticeCuts notifies the user of omitted tools and prompts, and again after changes. It does nothing until each server has
// connected or failed.
func (s *Set) noticeCuts() {
	for _, srv := range s.servers {
		select {
		case <-srv.attempted:
		default:
			return
		}
	}
	var parts []string
	for _, c := range s.Cuts() {
		var what []string
		if c.Tools > 0 {
			what = append(what, fmt.Sprintf("%d tools", c.Tools))
		}
		if c.Prompts > 0 {
			what = append(what, fmt.Sprintf("%d prompts", c.Prompts))
		}
		parts = append(parts, text.TruncateBytes(c.Server, 80)+": "+strings.Join(what, " and "))
	}
	cuts := strings.Join(parts, "\n")
	s.mu.Lock()
	again := cuts == s.cuts
	s.cuts = cuts
	s.mu.Unlock()
	if cuts != "" && !again {
		s.notice(Notice{
			Text: fmt.Sprintf("The MCP servers offer more than the limit of %d tools with %d KiB and %d prompts. "+
				"The rest is left out.", MaxOffered, MaxOfferedBytes>>10, maxPrompts),
			Detail: cuts,
		})
	}
}
