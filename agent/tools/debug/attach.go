package debug

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	dapconfig "github.com/gajae-code/gjc/dap/config"
)

// addressOf returns the address to attach to.
func addressOf(in *debugInput) string {
	host := cmp.Or(in.Host, "127.0.0.1")
	return net.JoinHostPort(host, strconv.Itoa(in.Port))
}

func (c launcher) planAttach(ctx context.Context, dir string, extra map[string]any) (*debugStart, error) {
	in := c.in
	switch {
	case in.PID != 0 && in.Port != 0:
		return nil, fmt.Errorf("%w for debug: give either pid or port to attach to", agent.ErrBadInput)
	case in.PID < 0 || in.Port < 0 || in.Port > 65535:
		return nil, fmt.Errorf("%w for debug: no process or port has that number", agent.ErrBadInput)
	case in.Listen && in.Port == 0:
		return nil, required("port", "attach with listen")
	}
	a := dapconfig.Attach{PID: in.PID, Host: in.Host, Port: in.Port, Listen: in.Listen, Dir: dir, StopOnEntry: c.stopOnEntry(), Extra: extra}
	st := new(debugStart)
	if in.Program != "" {
		st.program = c.call.Workspace.Resolve(in.Program)
		if _, err := c.launchable(ctx, st.program); err != nil {
			return nil, err
		}
		a.Program = st.program
	}
	executable := ""
	if in.PID != 0 {
		var inside bool
		if executable, _, inside = c.insideProcess(ctx, in.PID); !inside {
			if err := attachable(in.PID); err != nil { // before the user is asked about an adapter for it
				return nil, err
			}
		}
	}
	spec, err := c.adapter(ctx, dap.Wanted{
		Adapter: in.Adapter, Program: st.program, Dir: dir, Attach: true, Remote: in.Port != 0, PID: in.PID, Executable: executable,
	})
	if err != nil {
		return nil, err
	}
	prepared, err := dapconfig.PrepareAttach(spec, a)
	if err != nil {
		return nil, err
	}
	st.start, st.notes = prepared.Start, prepared.Notes
	return st, nil
}

// insideProcess returns the program and the command line of a process that commands in the sandbox know by an ID.
func (c launcher) insideProcess(ctx context.Context, pid int) (path, command string, ok bool) {
	if box := c.debugger.Sandbox(); box != nil {
		return box.Process(ctx, pid)
	}
	return "", "", false
}

// locate determines where the program is that a start connects to. What commands in the sandbox have started is meant before what has the
// same number outside: the model sees the numbers inside.
func (c launcher) locate(ctx context.Context, st *debugStart) {
	address, isAdapter := st.start.Address, true
	if address == "" && c.in.Port != 0 && !c.in.Listen {
		address, isAdapter = addressOf(c.in), false
	}
	switch {
	case st.where != approval.Started: // see processes
	case address == "" && st.start.Request != "attach":
	case address == "" && c.in.Listen:
	case c.insideAddress(ctx, address):
		st.where = approval.Inside
	case isAdapter || st.start.Request == "attach":
		st.where = approval.Outside
	}
}

// insideAddress reports whether a program in the sandbox listens at an address.
func (c launcher) insideAddress(ctx context.Context, address string) bool {
	host, port, err := net.SplitHostPort(address)
	number, numberErr := strconv.Atoi(port)
	ip := net.ParseIP(host)
	box := c.debugger.Sandbox()
	return err == nil && numberErr == nil && box != nil && (host == "localhost" || ip.IsLoopback()) && box.Listens(ctx, number)
}

// processes checks the processes to which a start would attach. The call, a configuration or the arguments may name one.
func (c launcher) processes(ctx context.Context, st *debugStart) error {
	if st.start.Request != "attach" {
		return nil
	}
	for _, name := range []string{"processId", "pid"} {
		pid, err := strconv.Atoi(fmt.Sprint(st.start.Arguments[name]))
		if n, ok := st.start.Arguments[name].(float64); ok {
			pid, err = int(n), nil
		}
		if err != nil || pid <= 0 {
			continue
		}
		_, line, inside := c.insideProcess(ctx, pid)
		if st.where = approval.Inside; !inside {
			st.where = approval.Outside
			if err := attachable(pid); err != nil {
				return err
			}
			st.identity += " " + processIdentity(pid)
			line = processCommand(pid)
		}
		if line != "" {
			st.shown = append(st.shown, fmt.Sprintf("Process %d: %s", pid, toolkit.CutLine(line, toolkit.MaxColumns)))
		}
	}
	return nil
}

// attachable returns an error for a process that does not exist or does not belong to the user.
func attachable(pid int) error {
	switch {
	case pid == os.Getpid():
		return fmt.Errorf("process %d is gjc itself, which cannot debug itself", pid)
	case slices.Contains(ancestors(), pid):
		return fmt.Errorf("process %d is gjc's parent; pausing it would pause gjc", pid)
	}
	return ownProcess(pid)
}

func noProcess(pid int) error {
	return fmt.Errorf("there is no process %d; look up its ID again", pid)
}

func foreignProcess(pid int) error {
	return fmt.Errorf("process %d belongs to another user; only your own processes can be debugged", pid)
}
