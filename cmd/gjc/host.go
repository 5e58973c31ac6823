package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/gateway"
	"github.com/gajae-code/gjc/cmd/gjc/internal/storage"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/discovery"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/ollama"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/registry"
	"github.com/gajae-code/gjc/sessions"
)

// host holds the process's surroundings. Only cmd/gjc accesses them.
type host struct {
	args                  []string
	env                   []string
	stdin, stdout, stderr *os.File
	// sandbox finds the boundary of this machine, once; see [host.sandboxOnce].
	sandbox func() (*sandbox.Sandbox, error)
	// children owns the programs that the configuration starts; nil if they have no guard.
	children *proc.Group
	// shared is the store of the command line or of GJC_STORE; nil for the one in the agent directory.
	shared *storage.Place
	// requestTimeout is [bridges.Options.RequestTimeout]; tests shorten it.
	requestTimeout time.Duration
}

// getenv returns a variable of the environment, or "".
func (h *host) getenv(name string) string {
	value := ""
	for _, kv := range h.env {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			value = kv[len(name)+1:]
		}
	}
	return value
}

// home returns the user's home directory.
func (h *host) home() (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := h.getenv(name); filepath.IsAbs(home) {
		return filepath.Clean(home), nil
	}
	// Some editors start agents with a nearly empty environment.
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return filepath.Clean(u.HomeDir), nil
	}
	return "", fmt.Errorf("%s is not set to an absolute path; set it, or pass --agent-dir", name)
}

// agentDir returns the directory of gjc's own files: flag, else GJC_CODING_AGENT_DIR, else gjc in the XDG data
// directory if that exists, else .gjc/agent in the home directory. It need not exist.
func (h *host) agentDir(flag string) (string, error) {
	for _, dir := range []string{flag, h.getenv("GJC_CODING_AGENT_DIR")} {
		if dir != "" {
			return filepath.Abs(dir)
		}
	}
	if data := h.getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		dir := filepath.Join(data, "gjc")
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	home, err := h.home()
	if err != nil {
		return "", err
	}
	config := h.getenv("GJC_CONFIG_DIR")
	if config == "" {
		config = ".gjc"
	}
	return filepath.Join(home, config, "agent"), nil
}

// registry returns the models and keys. It does no I/O. The key of the command line belongs to the provider of the
// command line's model, if there is one.
func (h *host) registry(agentDir string, opts *options, notice func(string)) *registry.Registry {
	provider, _, ok := strings.Cut(opts.model, "/")
	if !ok || provider == "gjc" { // a role's model may belong to any provider
		provider = ""
	}
	keys, err := gateway.FromVariable(h.getenv(gateway.Variable))
	if err != nil {
		notice(err.Error())
	}
	home, _ := h.home() // without one, the credentials of gcloud are not found
	vertex := google.Vertex{Getenv: h.getenv, Home: home}
	claudeVertex := anthropic.Vertex{Getenv: h.getenv, Home: home}
	bedrock := anthropic.Bedrock{Getenv: h.getenv, Home: home, Run: h.credentialProcess}
	return registry.New(registry.Options{
		AgentDir: agentDir, APIKey: opts.apiKey, APIKeyProvider: provider, Getenv: h.getenv, Notice: notice,
		Fallback: offline.Info(), Discover: discovery.Discover, Keyring: systemKeyring{}, Gateway: keys,
		Settings: func() (registry.Settings, error) {
			// Sessions, doctor and models report mistakes in config.yml.
			set, _ := h.modelSettings(agentDir, opts)
			return set, nil
		},
		Factories: map[string]providers.Factory{
			anthropic.API:        anthropic.Open,
			anthropic.APIBedrock: bedrock.Open,
			anthropic.APIVertex:  claudeVertex.Open,
			openai.API:           openai.Open,
			openai.APIResponses:  openai.OpenResponses,
			openai.APIAzure:      openai.OpenAzure,
			google.API:           google.Open,
			google.APIVertex:     vertex.Open,
			ollama.API:           ollama.Open,
			offline.API:          offline.Open,
		},
		Ambient: map[string]func() string{
			google.APIVertex: vertex.Credentials, anthropic.APIVertex: claudeVertex.Credentials, anthropic.APIBedrock: bedrock.Credentials,
		},
	})
}

// store returns the store of sessions. It does no I/O.
func (h *host) store(agentDir string) *sessions.Store {
	home, _ := h.home() // without one, directory names are longer
	o := &sessions.StoreOptions{Home: home, TempDir: os.TempDir()}
	if h.shared == nil {
		return sessions.NewStore(filepath.Join(agentDir, "sessions"), o)
	}
	o.FS, o.BlobDir = h.shared.FS, h.shared.Blobs
	return sessions.NewStore(h.shared.Sessions, o)
}

// storeAddress is the variable with the address of the store. In it a password is not in the list of processes.
const storeAddress = "GJC_STORE"

// openShared opens the store of the command line, or else of the environment. It does no I/O. The caller calls end when the command has ended.
func openShared(ctx context.Context, h *host, opts *options) (end func(), err error) {
	address, source := opts.store, "--store"
	if address == "" {
		address, source = h.getenv(storeAddress), storeAddress
	}
	if address == "" {
		return func() {}, nil
	}
	if !storage.IsAddress(address) {
		return nil, fmt.Errorf("%w: %s is an address such as postgres://user@host/database; for a directory, pass --agent-dir", errUsage, source)
	}
	place, end, err := storage.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUsage, source, err)
	}
	h.shared = &place
	return end, nil
}

// local returns what sessions use if the editor lacks a capability.
func (h *host) local(ctx context.Context) bridges.Local {
	local := bridges.Local{Shell: bridges.FindShell(h.getenv("SHELL")), Env: h.env}
	if h.fromDesktop() {
		local.LoginEnv = h.loginEnvOnce(ctx)
	}
	return local
}

// bridges returns a function that connects a session to its editor, and to this machine for what the editor cannot do.
func (h *host) bridges(local bridges.Local) func(server.BridgeOptions) server.Bridges {
	return func(o server.BridgeOptions) server.Bridges {
		return serverBridges(bridges.New(bridges.Options{
			Client: o.Client, Capabilities: o.Capabilities, SessionID: o.SessionID, Workspace: o.Workspace,
			Children: o.Children, Local: local, Mark: o.Mark, RequestTimeout: h.requestTimeout, Apart: o.Apart,
		}))
	}
}

func serverBridges(set bridges.Set) server.Bridges {
	return server.Bridges{
		FS: set.FS, Terminal: set.Terminal, Programs: set.Programs, Approver: set.Approver, Elicitor: set.Elicitor, Sandbox: debugSandbox{set.Sandbox},
		Inside: set.Sandbox.Start, Close: set.Close,
		Child: func(id acp.SessionID) server.Bridges { return serverBridges(set.Child(id)) },
	}
}

// debugSandbox implements [dap.Sandbox].
type debugSandbox struct{ bridges.Sandbox }

// Enclose implements [dap.Sandbox].
func (s debugSandbox) Enclose(ctx context.Context) (dap.Enclosure, error) {
	e, err := s.Sandbox.Enclose(ctx)
	if e == nil {
		return nil, err
	}
	return e, err
}

// withoutKeys hides the key variables that models.yml names from child processes, in addition to those that are always
// hidden. It reads the file when the first child starts.
func withoutKeys(local bridges.Local, models *registry.Registry) bridges.Local {
	whole := local
	local.LoginEnv = func(ctx context.Context) []string {
		secret := models.KeyVariables()
		return slices.DeleteFunc(slices.Clone(whole.Environ(ctx)), func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			return slices.ContainsFunc(secret, func(s string) bool { return s == name || runtime.GOOS == "windows" && strings.EqualFold(s, name) })
		})
	}
	return local
}
