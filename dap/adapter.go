package dap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	defaultInitialize = 30 * time.Second
	maxMessage        = 64 << 20
	// terminatedAfter is the time for which an adapter may take from the exited event to the terminated event.
	terminatedAfter = time.Second
)

// adapter is a debug adapter of a debuggee, from its start to its end.
//
// Its goroutines: watch, which waits for the end and releases everything; launch, which brings the program to where it
// runs; those of the client. [Debugger.Close] waits for all of them.
type adapter struct {
	debuggee  *debuggee
	transport *transport
	client    *client
	mark      string

	initialized chan struct{} // closed by the initialized event
	initOnce    sync.Once
	// stopping is closed when the adapter is to end.
	stopping chan struct{}
	stopOnce sync.Once
	done     chan struct{} // closed when all resources of the adapter are released

	// tree.mu guards the fields below.

	ending      ending
	terminated  chan struct{} // closed by the terminated event
	programOver bool          // terminated is closed
	restartData jsonx.Raw     // the restart value of the terminated event
	configured  bool          // the adapter has received all breakpoints
	configuring bool          // the adapter is receiving them again, after a restart
	// restarting says that the adapter was asked to restart the program: the end of the old program does not end the session.
	restarting bool
	terminals  []Terminal
	exitTimer  *time.Timer // runs between the exited event and the terminated event
}

// ending is how and why an adapter is to end.
type ending struct {
	requested bool
	reason    error // nil if the user asked for it
	opts      endOptions
}

// endOptions says how to end a session.
type endOptions struct {
	// kill ends the program as well.
	kill bool
	// terminate asks the program to end first, if the adapter supports it.
	terminate bool
	// disconnect bounds the disconnect request.
	disconnect time.Duration
}

func newAdapter(d *debuggee) *adapter {
	return &adapter{
		debuggee: d, mark: d.debugger.mark + "-" + d.id, initialized: make(chan struct{}), stopping: make(chan struct{}),
		done: make(chan struct{}), terminated: make(chan struct{}),
		ending: ending{opts: endOptions{kill: d.start.Request == "launch", disconnect: terminateDisconnect}},
	}
}

// do makes a request within the debugger's request timeout. If the connection is lost, the error says why.
func (a *adapter) do(ctx context.Context, command string, arguments, body any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.debuggee.debugger.opts.RequestTimeout, fmt.Errorf("%w: %s", ErrTimeout, command))
	defer cancel()
	return a.explain(a.client.do(ctx, command, arguments, body))
}

// printWriter adds what an adapter prints outside the protocol to the session's output.
type printWriter struct {
	adapter  *adapter
	category string
}

func (p *printWriter) Write(b []byte) (int, error) {
	p.adapter.print(p.category, string(b))
	return len(b), nil
}

func (a *adapter) initialize(ctx context.Context) error {
	d := a.debuggee
	spec := d.start.Adapter
	timeout, id := time.Duration(0), "gjc"
	if spec != nil {
		timeout, id = spec.Slow, spec.Name
		if spec.AdapterID != "" {
			id = spec.AdapterID
		}
	}
	if timeout <= 0 {
		timeout = defaultInitialize
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the adapter did not answer initialize within %s", timeout))
	defer cancel()
	var raw jsonx.Raw
	err := a.client.do(ctx, "initialize", &initializeArguments{
		InitializeRequestArguments: godap.InitializeRequestArguments{
			ClientID: "gjc", ClientName: "Gajae Code", AdapterID: id, Locale: "en-US", LinesStartAt1: true, ColumnsStartAt1: true,
			PathFormat: "path", SupportsVariableType: true, SupportsVariablePaging: true,
			SupportsRunInTerminalRequest: d.debugger.opts.RunInTerminal != nil && d.tree.root.start.mayRunPrograms(), SupportsMemoryReferences: true,
			SupportsProgressReporting: true, SupportsInvalidatedEvent: true,
		},
		SupportsStartDebuggingRequest: true,
	}, &raw)
	if err != nil {
		return err
	}
	caps, err := newCapabilities(raw)
	if err != nil {
		return fmt.Errorf("cannot decode its answer to initialize: %w", err)
	}
	d.tree.mu.Lock()
	d.caps = caps
	d.tree.mu.Unlock()
	return nil
}

// initializeArguments adds a member that is missing in go-dap.
type initializeArguments struct {
	godap.InitializeRequestArguments
	SupportsStartDebuggingRequest bool `json:"supportsStartDebuggingRequest"`
}

// launch sends launch or attach, sends the breakpoints when the adapter is ready for them, and lets the program run.
func (a *adapter) launch() {
	d := a.debuggee
	ctx := a.client.ctx // no timeout: the adapter may have to build the program
	launched := make(chan error, 1)
	// The request is written before the wait for the initialized event: no configuration may precede it.
	request, err := a.client.begin(ctx, d.start.Request, a.launchArguments())
	if err != nil {
		a.failLaunch(err)
		return
	}
	go func() { launched <- request.wait(ctx, nil) }() // ends with the client
	answered := false
	for ready := false; !ready && err == nil; {
		select {
		case <-a.initialized:
			ready = true
		case err = <-launched:
			answered, launched = true, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		configured := a.configure(ctx)
		if !answered {
			err = <-launched
		}
		switch {
		case err != nil && configured != nil && !errors.Is(configured, err) && !errors.Is(configured, errHungUp):
			err = fmt.Errorf("%w (and it was not configured: %w)", err, configured)
		case err == nil:
			err = configured
		}
	}
	if err != nil {
		a.failLaunch(err)
		return
	}
	a.setRunning()
}

// configureAgain sends the breakpoints to an adapter that has restarted the program.
func (a *adapter) configureAgain() {
	err := a.configure(a.client.ctx)
	a.debuggee.tree.mu.Lock()
	a.configuring = false
	a.debuggee.tree.mu.Unlock()
	if err != nil {
		a.failLaunch(err)
		return
	}
	a.setRunning()
}

// setRunning records that the program runs for the first time.
func (a *adapter) setRunning() {
	d := a.debuggee
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	if d.adapter == a && d.state == StateConfiguring {
		d.state = StateRunning
	}
	d.tree.startIdleLocked()
	d.tree.announceLocked()
}

// launchArguments returns the arguments of the launch or attach request.
func (a *adapter) launchArguments() map[string]any {
	d := a.debuggee
	args := d.start.Arguments
	if args == nil {
		args = map[string]any{}
	}
	d.tree.mu.Lock()
	data := d.relaunches.data
	d.tree.mu.Unlock()
	if len(data) == 0 {
		return args
	}
	args = maps.Clone(args)
	args["__restart"] = data
	return args
}

// failLaunch ends a session whose program was not launched or attached to.
func (a *adapter) failLaunch(err error) {
	d := a.debuggee
	if a.client.closeError() != nil {
		err = a.endError()
	}
	d.tree.mu.Lock()
	requested := a.ending.requested
	if !requested {
		if out := text.Tail(strings.TrimSpace(d.tree.output.since(0)), stderrInError); out != "" && !strings.Contains(err.Error(), out) {
			err = fmt.Errorf("%w\nOutput:\n%s", err, out)
		}
		d.failure = fmt.Errorf("%s failed: %w", d.start.Request, err)
		d.ended = d.failure
	}
	d.tree.mu.Unlock()
	if !requested && d.tree.root == d {
		d.debugger.replan(d.session)
	}
	a.requestStop(nil)
}
