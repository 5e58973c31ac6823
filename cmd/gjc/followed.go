package main

import (
	"context"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/gitconfig"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
)

// loadedFiles returns the patterns of the files that gjc reads from a workspace: a change of one asks.
func loadedFiles() []string {
	all := slices.Concat(hooks.Files(), custom.Files(), lspconfig.Files(), dapconfig.Files())
	for _, kind := range userfiles.Kinds() {
		all = append(all, userfiles.Patterns(kind)...)
	}
	return all
}

// gitPatience bounds the time for git to print its configuration.
const gitPatience = 2 * time.Second

// followed returns a function that asks git, once for each root, what its configuration makes it run or follow there. Without git, nothing
// does.
func (h *host) followed() func(root string) []string {
	var mu sync.Mutex // guards known
	known := make(map[string][]string)
	return func(root string) []string {
		mu.Lock()
		defer mu.Unlock()
		paths, ok := known[root]
		if ok {
			return paths
		}
		home, _ := h.home() // without one, no path begins with it
		ctx, cancel := context.WithTimeout(context.Background(), gitPatience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", gitconfig.ListArgs...)
		cmd.Dir, cmd.Env = root, h.env
		listing, _ := cmd.Output() // outside of a repository there may be none
		paths = gitconfig.Followed(listing, root, home)
		known[root] = paths
		return paths
	}
}
