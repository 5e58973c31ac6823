package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// asProgram is the environment variable that makes the test binary the program that the launcher runs.
const asProgram = "GJC_TEST_AS_PROGRAM"

// fakeProgram does what its first argument says, and returns the exit code.
func fakeProgram(args []string) int {
	switch args[0] {
	case "copy": // standard input to standard output
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 1
		}
		return 0
	case "exit":
		code, _ := strconv.Atoi(args[1])
		return code
	case "die": // by a signal that it does not handle
		fmt.Println("ready")
		select {}
	case "count": // signals, until a line on standard input
		signals := make(chan os.Signal, 10)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		line := make(chan bool)
		go func() { // ends with the process
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			close(line)
		}()
		for n := 0; ; {
			select {
			case s := <-signals:
				n++
				fmt.Println(s)
			case <-line:
				return n
			}
		}
	}
	return 1
}
