package dap

import (
	"context"
	"time"
)

// Connect is how gjc and an adapter find each other.
type Connect string

// The ways to connect.
const (
	// ConnectStdio speaks over stdin and stdout of the adapter.
	ConnectStdio Connect = "stdio"
	// ConnectSocket adds --listen=unix:PATH to the arguments and dials that, where there are Unix sockets for it; elsewhere
	// it listens on a port of 127.0.0.1 and adds --client-addr=ADDRESS. It is what dlv understands.
	ConnectSocket Connect = "socket"
	// ConnectDial has the adapter listen: ${port} in its arguments (or ${socket}, a path) is what gjc dials then.
	ConnectDial Connect = "dial"
	// ConnectListen has gjc listen: ${port} in the arguments is what the adapter dials.
	ConnectListen Connect = "listen"
)

// Spec is a debug adapter as it is configured: which program, how to start it, and what for. Nothing of it must be changed.
type Spec struct {
	// Name is the key in the configuration ("dlv"). It is the adapterID of initialize, unless AdapterID is set.
	Name, AdapterID string
	// Kind is the name of the adapter among the defaults whose ways it has ("dlv" for a wrapper of dlv); empty for none.
	Kind string
	// Path is the program, absolute; Args may have ${port} and ${socket} (see [Connect]).
	Path string
	Args []string
	// Env is added to the adapter's environment, as "NAME=value". It is meant for this child and passes as it is.
	Env     []string
	Connect Connect
	// Languages, FileTypes (".go", or names of whole files) and RootMarkers say what it is for.
	Languages, FileTypes, RootMarkers []string
	// Native says that it debugs what compilers make, whatever the language.
	Native bool
	// LaunchDefaults and AttachDefaults are arguments of the requests, under what the caller gives.
	LaunchDefaults, AttachDefaults map[string]any
	// TerminalArguments ask the adapter to run the program in a terminal (runInTerminal); nil where it can not.
	TerminalArguments map[string]any
	// Types are the names by which launch.json knows the adapter ("go", "python").
	Types []string
	// Forms say how the adapter writes what all of them have.
	Forms Forms
	// Slow is how long the adapter may take to connect and to answer initialize. If zero, 10 s and 30 s.
	Slow time.Duration
	// Install says how the adapter comes to a machine.
	Install string
	// Notes are what the user should know of the adapter as it was found.
	Notes []string
}

// Forms are arguments with placeholders, by what they are for. A text that is one placeholder alone becomes the value with
// its own type; a member without a value is left out.
type Forms struct {
	// Launch has ${program}, ${args} (a list), ${argsText} (one text), ${dir}, ${env} (an object), ${envList} ("NAME=value")
	// and ${envPairs} (objects with name and value).
	Launch map[string]any
	// Core is for a core file: what Launch has, and ${core}. Its member request, if there is one, names the request. Nil
	// where the adapter reads none.
	Core map[string]any
	// Process has ${pid}, ${pidText} and ${program}, for an attach to a process. Nil where the adapter can not.
	Process map[string]any
	// Remote has ${host} and ${port}, for an attach to a port. DialRemote says that the port is an adapter's own, which gjc
	// connects to itself. Nil where the adapter can not.
	Remote     map[string]any
	DialRemote bool
	// Listen has ${host} and ${port}, for a program that connects to the adapter by itself. Nil where the adapter can not.
	Listen map[string]any
	// StopOnEntry names the arguments that make the program stop at its beginning.
	StopOnEntry []string
}

// Unused is an adapter that is configured and can not be used, with the reason in words for the user: what to install.
type Unused struct {
	Name, Why string
	FileTypes []string
	// Elsewhere says that nothing in the workspace's root speaks for the adapter, and nobody has configured it.
	Elsewhere bool
}

// Listing is what a [Catalog] knows of a workspace.
type Listing struct {
	Adapters []*Spec
	Unused   []Unused
	// Problems are faults of the configuration files, each with file and line, in words for the user.
	Problems []string
}

// Wanted is what an adapter is looked for.
type Wanted struct {
	// Adapter is the name of the adapter, or a type of launch.json; empty for the one that fits.
	Adapter string
	// Program is what is to be debugged, absolute: a source file, a binary, a package's directory. Empty for an attach.
	Program string
	// Dir is where root markers are looked for.
	Dir string
	// Attach says that it is for an attach, Remote that this is to a port.
	Attach, Remote bool
	// PID is the process to attach to; zero for none.
	PID int
}

// Catalog knows which adapters there are for one workspace. It is safe for concurrent use. Package dap/config has the one
// that reads configuration files.
type Catalog interface {
	// Find returns the adapter to use. Where there is none the error says what to install.
	Find(ctx context.Context, w Wanted) (*Spec, error)
	// List tells all of it.
	List(ctx context.Context) (*Listing, error)
}
