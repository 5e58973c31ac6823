package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

const (
	// MaxOffered bounds the tools of a set that a model is shown, and MaxOfferedBytes their names, descriptions and
	// schemas together: they go with every request, and some model APIs refuse one with more than 128 tools.
	MaxOffered      = 100
	MaxOfferedBytes = 256 << 10
	// MaxPrompts bounds the prompts of a set that are listed.
	MaxPrompts = 200
)

// Cut is how much of what one server has is left out.
type Cut struct {
	Server         string
	Tools, Prompts int
}

// Offered returns the tools that a model is to be shown: of [Set.Tools], in the same order, at most [MaxOffered] and
// [MaxOfferedBytes]. The servers take turns, so that one with very many does not take the place of the others.
func (s *Set) Offered() []*Tool {
	tools, _ := s.offeredTools()
	return tools
}

// Cuts returns the servers of which not all tools and prompts are offered, in the order of the servers.
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
	return fairly(each(s, func(l *lists) []*Tool { return l.tools }), MaxOffered, MaxOfferedBytes, func(t *Tool) int {
		return len(t.Name) + max(len(t.Description), len(t.Title)) + len(t.Schema)
	})
}

func (s *Set) offeredPrompts() ([]Prompt, []int) {
	return fairly(each(s, func(l *lists) []Prompt { return l.prompts }), MaxPrompts, MaxPrompts, func(Prompt) int { return 1 })
}

// each returns a list for each server.
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

// fairly takes from each list in turn, from its start on, until there are most things or they weigh more than room.
// What does not fit is passed over. It returns what was taken, list by list, and how many of each list were not.
func fairly[T any](all [][]T, most, room int, weight func(T) int) (taken []T, left []int) {
	kept := make([][]T, len(all))
	left = make([]int, len(all))
	longest := 0
	for i := range all {
		longest, left[i] = max(longest, len(all[i])), len(all[i])
	}
	count := 0
	for turn := 0; turn < longest && count < most; turn++ {
		for i, list := range all {
			if turn >= len(list) || count >= most {
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

// noteCuts gives one notice of what is left out, and again when that has changed. It waits until each server has either
// connected or failed.
func (s *Set) noteCuts() {
	for _, srv := range s.servers {
		select {
		case <-srv.settled:
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
			Text: fmt.Sprintf("The MCP servers have more than a model can be shown: %d tools of at most %d KiB, and %d prompts. "+
				"The rest is left out.", MaxOffered, MaxOfferedBytes>>10, MaxPrompts),
			Detail: cuts,
		})
	}
}
