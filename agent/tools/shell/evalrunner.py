# The runner of the eval tool: keeps one namespace and runs cells of Python in it. Requests come as lines of JSON on the standard
# input; a cell's output goes to the standard output, and behind it a mark that only this cell's request holds.
import sys

_here = sys.path[:1] == [""]
if _here:
    del sys.path[0]  # a file of the workspace must not stand in for a module of this runner's
import ast, builtins, io, json, linecache, os, queue, signal, threading, time, traceback, types


def _main():
    requests = os.dup(0)
    replies = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    here, main_thread = os.getpid(), threading.get_ident()
    waiting = queue.Queue()
    busy = [False]  # the mark of the cell that runs
    handled = [0]  # how many signals reached the handler
    sleep = time.sleep  # a cell may replace the module's

    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    sys.argv = [""]

    def interrupted(signum, frame):
        handled[0] += 1
        if busy[0] and os.getpid() == here:
            raise KeyboardInterrupt

    # Python looks for signals before it enters a system call. One that arrives between the look and the call does not end the call,
    # and is handled only when the call returns: so the signal is sent again until the handler has run.
    def interrupt(mark):
        before = handled[0]
        while busy[0] == mark and handled[0] == before:
            signal.pthread_kill(main_thread, signal.SIGINT)
            if signal.getsignal(signal.SIGINT) is not interrupted:
                return  # the cell has its own handler, which may expect one signal
            sleep(0.05)

    def listen():
        with os.fdopen(requests, "rb") as lines:
            for line in lines:
                request = json.loads(line)
                if "interrupt" in request:
                    interrupt(request["interrupt"])
                else:
                    waiting.put(request)
        os._exit(0)

    def stream(fd):
        raw = os.fdopen(fd, "wb", buffering=8192, closefd=False)
        return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def prepare():
        os.dup2(nothing, 0)
        os.dup2(replies, 1)
        os.dup2(replies, 2)
        sys.stdout, sys.stderr = stream(1), stream(2)
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        sys.stdin = open(0, encoding="utf-8", closefd=False)
        signal.signal(signal.SIGINT, interrupted)
        sys.modules["__main__"] = module

    def flush(streams):
        for s in streams:
            try:
                s.flush()
            except Exception:
                pass

    def run(code, name, mark):
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        space = module.__dict__
        busy[0] = mark
        if tree.body:
            exec(compile(tree, name, "exec"), space)
        if last is not None:
            value = eval(compile(last, name, "eval"), space)
            if value is not None:
                print(repr(value))
                space["_"] = value

    def explain(error, name):
        at = error.__traceback__
        while at is not None and at.tb_frame.f_code.co_filename != name:
            at = at.tb_next
        if isinstance(error, KeyboardInterrupt):
            lines = traceback.format_tb(at) + ["KeyboardInterrupt\n"]
        else:
            lines = traceback.format_exception(type(error), error, at)
        sys.stderr.write("".join(lines))

    def cell(request):
        name, status = request["name"], "ok"
        prepare()
        streams = (sys.stdout, sys.stderr)
        try:
            try:
                run(request["code"], name, request["mark"])
                flush((sys.stdout, sys.stderr))
            finally:
                busy[0] = False
        except SystemExit as error:
            busy[0] = False
            status = "exit"
            if error.code not in (None, 0):
                status = "error"
                sys.stderr.write("SystemExit: %s\n" % (error.code,))
        except BaseException as error:
            busy[0] = False
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            if os.getpid() == here:
                try:
                    sys.stderr = streams[1]
                    explain(error, name)
                except BaseException:
                    os.write(replies, b"the error cannot be shown\n")
        flush((sys.stdout, sys.stderr) + streams)
        if os.getpid() != here:
            os._exit(0 if status == "ok" else 1)
        os.write(replies, ("\0" + request["mark"] + ":" + status + "\0").encode())

    signal.signal(signal.SIGINT, interrupted)
    threading.Thread(target=listen, daemon=True).start()
    while True:
        cell(waiting.get())


if _here:
    sys.path.insert(0, "")
_main()
