package setup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// quoted returns a string as Lua and Emacs Lisp write it.
func quoted(s string) string {
	return string(jsonx.AppendString(nil, s))
}

// neovim returns the plan for Neovim with codecompanion.nvim. Its file is a specification for lazy.nvim, which merges the options of
// several; another plugin manager needs the adapter in the call of setup.
func neovim(o Options) *Plan {
	config := filepath.Join(o.Home, ".config")
	if dir := o.Getenv("XDG_CONFIG_HOME"); dir != "" {
		config = dir
	} else if o.GOOS == "windows" {
		config = o.Getenv("LOCALAPPDATA")
	}
	dir := filepath.Join(config, "nvim", "lua", "plugins")
	p := &Plan{
		Title: "Neovim with codecompanion.nvim", Path: filepath.Join(dir, "gjc.lua"), needs: dir,
		missing: "lazy.nvim reads it if it imports \"plugins\"; create it",
		Snippet: strings.ReplaceAll(codecompanion, "PROGRAM", quoted(o.Program)),
		After:   "Restart Neovim; :CodeCompanionChat talks to gjc. Without lazy.nvim, give adapters and interactions to require(\"codecompanion\").setup. docs/editors.md has avante.nvim.",
	}
	p.edit = func(data []byte) ([]byte, error) {
		if data != nil && !bytes.HasPrefix(data, []byte(firstLine)) {
			return nil, errors.New("it is a file of your own; add the lines by hand")
		}
		return []byte(p.Snippet), nil
	}
	return p
}

// firstLine begins the file for Neovim.
const firstLine = `-- Made by "gjc setup neovim".`

const codecompanion = firstLine + `
return {
  "olimorris/codecompanion.nvim",
  dependencies = { "nvim-lua/plenary.nvim" },
  opts = {
    adapters = { acp = { gjc = function()
      local helpers = require("codecompanion.adapters.acp.helpers")
      return {
        name = "gjc", formatted_name = "gjc", type = "acp",
        roles = { llm = "assistant", user = "user" },
        opts = { vision = true },
        commands = { default = { PROGRAM, "acp" } },
        defaults = { mcpServers = {}, timeout = 20000 },
        parameters = {
          protocolVersion = 1,
          clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
          clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
        },
        handlers = {
          setup = function(self) return true end,
          auth = function(self) return true end,
          form_messages = function(self, messages, capabilities)
            return helpers.form_messages(self, messages, capabilities)
          end,
          on_exit = function(self, code) end,
        },
      }
    end } },
    interactions = { chat = { adapter = "gjc" } },
  },
}
`

// emacs returns the plan for Emacs with agent-shell: a block in the init file.
func emacs(o Options) *Plan {
	config := o.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(o.Home, ".config")
	}
	path := filepath.Join(o.Home, ".emacs.d", "init.el")
	// The first file that exists is the one that Emacs reads.
	for _, name := range []string{filepath.Join(o.Home, ".emacs.el"), filepath.Join(o.Home, ".emacs"), path, filepath.Join(config, "emacs", "init.el")} {
		if _, err := os.Stat(name); err == nil {
			path = name
			break
		}
	}
	p := &Plan{
		Title: "Emacs with agent-shell", Path: path, Snippet: strings.ReplaceAll(agentShell, "PROGRAM", quoted(o.Program)),
		After: "Restart Emacs; M-x agent-shell offers gjc.",
	}
	p.edit = func(data []byte) ([]byte, error) { return withBlock(data, p.Snippet) }
	return p
}

const (
	blockBegin = ";; gjc: begin\n"
	blockEnd   = ";; gjc: end\n"
)

const agentShell = blockBegin + `(with-eval-after-load 'agent-shell
  (when (listp agent-shell-agent-configs)
    (add-to-list
     'agent-shell-agent-configs
     (agent-shell-make-agent-config
      :identifier 'gjc :mode-line-name "gjc" :buffer-name "gjc"
      :shell-prompt "gjc> " :shell-prompt-regexp "gjc> "
      :client-maker
      (lambda (buffer)
        (agent-shell--make-acp-client
         :command PROGRAM :command-params '("acp")
         :environment-variables (agent-shell-make-environment-variables :inherit-env t)
         :context-buffer buffer))))))
` + blockEnd

// withBlock returns a file with the block, in place of an earlier one or at the end.
func withBlock(data []byte, block string) ([]byte, error) {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	crlf := len(text) < len(data)
	before, rest, found := strings.Cut(text, blockBegin)
	if found {
		_, after, ends := strings.Cut(rest, blockEnd)
		if !ends {
			return nil, errors.New("its block of gjc has no end; remove the block")
		}
		text = before + block + after
	} else {
		if text != "" {
			text = strings.TrimRight(text, "\n") + "\n\n"
		}
		text += block
	}
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text), nil
}
