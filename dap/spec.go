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

// Spec is a debug adapter as it is configured: which program, how to start it, and what for.
type Spec struct {
	// Name is the key in the configuration ("dlv"). It is the adapterID of initialize, unless AdapterID is set.
	Name, AdapterID string
	// Path is the program, absolute; Args may have ${port} and ${socket} (see [Connect]).
	Path    string
	Args    []string
	Connect Connect
	// Languages, FileTypes (".go", or names of whole files) and RootMarkers say what it is for.
	Languages, FileTypes, RootMarkers []string
	// LaunchDefaults and AttachDefaults are arguments of the requests, under what the caller gives. They must not be changed.
	LaunchDefaults, AttachDefaults map[string]any
	// TerminalArguments ask the adapter to run the program in a terminal (runInTerminal); nil where it can not.
	TerminalArguments map[string]any
	// Types are the names by which launch.json knows the adapter ("go", "python").
	Types []string
	// RemoteAttach says what an attach to a port means: "dial" when the port is an adapter's own, which gjc connects to
	// itself; else the arguments that name the place to the adapter ("connect": host and port in an object of that name;
	// "flat": host and port beside the others).
	RemoteAttach string
	// Slow is how long the adapter may take to connect and to answer initialize. If zero, 10 s and 30 s.
	Slow time.Duration
}

// Unused is an adapter that is configured and can not be used, with the reason in words for the user: what to install.
type Unused struct {
	Name, Why string
	FileTypes []string
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
	// Adapter is the name of the adapter; empty for the one that fits.
	Adapter string
	// Program is what is to be debugged, absolute: a source file, a binary, a package's directory. Empty for an attach.
	Program string
	// Dir is where root markers are looked for.
	Dir string
	// Attach says that it is for an attach, Remote that this is to a port.
	Attach, Remote bool
}

// Catalog knows which adapters there are for one workspace. It is safe for concurrent use. Package dap/config has the one
// that reads configuration files.
type Catalog interface {
	// Find returns the adapter to use. Where there is none the error says what to install.
	Find(ctx context.Context, w Wanted) (*Spec, error)
	// List tells all of it.
	List(ctx context.Context) (*Listing, error)
}
