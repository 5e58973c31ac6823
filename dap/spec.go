package dap

import (
	"context"
	"time"
)

// Connect is how gjc and an adapter connect.
type Connect string

// The ways to connect.
const (
	// ConnectStdio uses the adapter's stdin and stdout.
	ConnectStdio Connect = "stdio"
	// ConnectSocket adds --listen=unix:PATH to the arguments and dials the socket. On Windows it listens on a port of
	// 127.0.0.1 and adds --client-addr=ADDRESS. dlv supports both.
	ConnectSocket Connect = "socket"
	// ConnectDial dials the adapter, which listens on ${port} or ${socket} (a path) in its arguments.
	ConnectDial Connect = "dial"
	// ConnectListen listens for the adapter, which dials ${port} in its arguments.
	ConnectListen Connect = "listen"
)

// Spec is the configuration of a debug adapter. It must not be modified.
type Spec struct {
	// Name is the key in the configuration ("dlv"). It is also the adapterID in initialize, unless AdapterID is set.
	Name, AdapterID string
	// Kind is the default adapter that it behaves like ("dlv" for a wrapper of dlv); empty for none.
	Kind string
	// Path is the program, absolute. Args may contain ${port} and ${socket} (see [Connect]).
	Path string
	Args []string
	// Env is added to the adapter's environment, as "NAME=value". Provider keys in it are not removed.
	Env     []string
	Connect Connect
	// Languages, FileTypes (".go", or whole file names) and RootMarkers describe the programs that the adapter debugs.
	Languages, FileTypes, RootMarkers []string
	// Native says that it debugs compiled programs of any language.
	Native bool
	// LaunchDefaults and AttachDefaults are default arguments of the requests.
	LaunchDefaults, AttachDefaults map[string]any
	// TerminalArguments make the adapter run the program in a terminal (runInTerminal); nil if it does not support that.
	TerminalArguments map[string]any
	// Types are the names of the adapter in launch.json ("go", "python").
	Types []string
	// Forms are the adapter's own names for common arguments.
	Forms Forms
	// Slow bounds the time to connect and the time to answer initialize. If zero, 10 s and 30 s.
	Slow time.Duration
	// Install says how to install the adapter.
	Install string
	// Notes are texts for the user about the installed adapter.
	Notes []string
}

// Forms are templates of request arguments. A string that is a single placeholder is replaced with the value and keeps the value's
// type. A member without a value is omitted.
type Forms struct {
	// Launch may contain ${program}, ${args} (a list), ${argsText} (a string), ${dir}, ${env} (an object), ${envList}
	// ("NAME=value") and ${envPairs} (objects with name and value).
	Launch map[string]any
	// Core is for a core file. It may contain ${core} and the placeholders of Launch. Its optional member "request" names the
	// request. Nil if the adapter does not support core files.
	Core map[string]any
	// Process is for an attach to a process. It may contain ${pid}, ${pidText} and ${program}. Nil if unsupported.
	Process map[string]any
	// Remote is for an attach to a port. It may contain ${host} and ${port}. Nil if unsupported. DialRemote says that an
	// adapter listens on the port and gjc connects to it.
	Remote     map[string]any
	DialRemote bool
	// Listen is for a program that connects to the adapter. It may contain ${host} and ${port}. Nil if unsupported.
	Listen map[string]any
	// StopOnEntry names the arguments that make the program stop at its entry.
	StopOnEntry []string
}

// Unused is a configured adapter that cannot be used. Why is the reason, for the user: what to install.
type Unused struct {
	Name, Why string
	FileTypes []string
	// Elsewhere reports whether the workspace's root has none of the adapter's markers and the user has not configured the adapter.
	Elsewhere bool
}

// Listing lists the adapters of a workspace.
type Listing struct {
	Adapters []*Spec
	Unused   []Unused
	// Problems are the errors in the configuration files, each with file and line, for the user.
	Problems []string
}

// Wanted selects an adapter.
type Wanted struct {
	// Adapter is the name of the adapter, or a type of launch.json; empty to select it by the program.
	Adapter string
	// Program is the program to debug, absolute: a source file, a binary or a package's directory. Empty for an attach.
	Program string
	// Dir is the directory with the root markers.
	Dir string
	// Attach says that the adapter is for an attach, Remote that the attach is to a port.
	Attach, Remote bool
	// PID is the process to attach to; zero for none. Executable is its program if that cannot be found by the PID; empty otherwise.
	PID        int
	Executable string
}

// Catalog has the adapters of one workspace. It is safe for concurrent use. Package dap/config implements it with
// configuration files.
type Catalog interface {
	// Find returns the adapter to use. If there is none, the error says what to install.
	Find(ctx context.Context, w Wanted) (*Spec, error)
	// List returns all adapters.
	List(ctx context.Context) (*Listing, error)
}
