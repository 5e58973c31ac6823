package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// maxPrompts bounds the prompts of a set that are listed.
const maxPrompts = 200

// Cut is the number of prompts of one server that are omitted.
type Cut struct {
	Server  string
	Prompts int
}

// Cuts returns the number of omitted prompts for each server that has any.
func (s *Set) Cuts() []Cut {
	servers := s.list()
	_, prompts := offeredPrompts(servers)
	var cuts []Cut
	for i, srv := range servers {
		if prompts[i] > 0 {
			cuts = append(cuts, Cut{Server: srv.spec.Name, Prompts: prompts[i]})
		}
	}
	return cuts
}

func offeredPrompts(servers []*server) ([]Prompt, []int) {
	return takeTurns(each(servers, func(l *lists) []Prompt { return l.prompts }), maxPrompts)
}

// each returns a list of each server.
func each[T any](servers []*server, of func(*lists) []T) [][]T {
	all := make([][]T, len(servers))
	for i, srv := range servers {
		srv.mu.Lock()
		if srv.offers() {
			all[i] = of(&srv.lists)
		}
		srv.mu.Unlock()
	}
	return all
}

// takeTurns takes items from the lists in turn, up to limit, so that a long list does not displace the others. It returns the items, list
// by list, and the number of omitted items of each list.
func takeTurns[T any](all [][]T, limit int) (taken []T, left []int) {
	kept := make([][]T, len(all))
	left = make([]int, len(all))
	longest := 0
	for i := range all {
		longest, left[i] = max(longest, len(all[i])), len(all[i])
	}
	count := 0
	for turn := 0; turn < longest && count < limit; turn++ {
		for i, list := range all {
			if turn < len(list) && count < limit {
				kept[i] = append(kept[i], list[turn])
				left[i]--
				count++
			}
		}
	}
	return slices.Concat(kept...), left
}

// noticeCuts notifies the user of omitted prompts, and again after changes. It does nothing until each server has connected or failed.
func (s *Set) noticeCuts() {
	for _, srv := range s.list() {
		select {
		case <-srv.attempted:
		default:
			return
		}
	}
	var parts []string
	for _, c := range s.Cuts() {
		parts = append(parts, fmt.Sprintf("%s: %d prompts", text.TruncateBytes(c.Server, 80), c.Prompts))
	}
	cuts := strings.Join(parts, "\n")
	s.mu.Lock()
	again := cuts == s.cuts
	s.cuts = cuts
	s.mu.Unlock()
	if cuts != "" && !again {
		s.notice(Notice{
			Text:   fmt.Sprintf("The MCP servers offer more than the limit of %d prompts. The rest is left out.", maxPrompts),
			Detail: cuts,
		})
	}
}
