package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/gitconfig"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/permit"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
)

// loadedFiles returns the patterns of the files that gjc reads from a workspace: a change of one asks.
func loadedFiles() []string {
	all := slices.Concat(hooks.Files(), lspconfig.Files(), dapconfig.Files())
	for _, kind := range userfiles.Kinds() {
		all = append(all, userfiles.Patterns(kind)...)
	}
	return all
}

// importedFiles returns the patterns of the files of a workspace that its instructions import.
func importedFiles(opts instructions.Options) []string {
	var all []string
	set := instructions.Load(permit.With(context.Background(), permit.Own()), &opts) // a few small files
	for i := range set.Items {
		it := &set.Items[i]
		if rel, err := filepath.Rel(opts.Cwd, it.Path); (it.ImportedBy != "" || it.State == userfiles.Used) && err == nil && filepath.IsLocal(rel) {
			all = append(all, filepath.ToSlash(rel))
		}
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
