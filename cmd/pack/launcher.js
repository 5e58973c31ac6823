#!/usr/bin/env node
// Runs the gjc of this platform's package. Standard input and output are the program's own: the launcher reads and writes neither.
"use strict";

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "gjc.exe" : "gjc";

function find() {
  const name = `@gajae-code/gjc-${platform}`;
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    const known = Object.keys(require("../package.json").optionalDependencies);
    console.error(
      known.includes(name)
        ? `gjc: the package ${name}, which holds the program for this platform, is not installed. Install @gajae-code/gjc again, ` +
            "with optional dependencies (without --omit=optional and --no-optional) and on the machine that runs it."
        : `gjc: there is no program for ${platform}. To build one: https://github.com/gajae-code/gjc/blob/main/docs/install.md`,
    );
    process.exit(1);
  }
}

function spawn(program) {
  const child = require("node:child_process").spawn(program, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", (error) => {
    console.error(`gjc: ${program} does not start: ${error.message}`);
    process.exit(1);
  });
  // The launcher outlives the program, so that its status can be passed on. At a terminal, Ctrl-C and Ctrl-\ reach both processes, and
  // a second signal would count as a second key.
  const terminal = require("node:tty").isatty(0);
  const pass = (signal) => {
    if (!terminal || (signal !== "SIGINT" && signal !== "SIGQUIT")) {
      child.kill(signal);
    }
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
  for (const signal of signals) {
    process.on(signal, pass);
  }
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exit(code);
    }
    for (const handled of signals) {
      process.removeListener(handled, pass);
    }
    process.kill(process.pid, signal);
  });
}

const program = find();
if (process.execve && process.platform !== "win32") {
  // Since Node.js 22.15 the program takes the place of the launcher, so that signals and the status need no help.
  process.execve(program, ["gjc", ...process.argv.slice(2)], process.env);
} else {
  spawn(program);
}
