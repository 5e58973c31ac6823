package sandbox

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// maxFiles bounds the files of one message.
const maxFiles = 4

// send writes a message with files, which stay open here.
func send(c *net.UnixConn, v any, files ...*os.File) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(data, rights, nil)
	if err == nil && n < len(data) {
		_, err = c.Write(data[n:])
	}
	return err
}

// receive reads a message and its files, which the caller closes.
func receive(c *net.UnixConn, v any) ([]*os.File, error) {
	head, rights := make([]byte, 4), make([]byte, unix.CmsgSpace(maxFiles*4))
	n, m, flags, _, err := c.ReadMsgUnix(head, rights)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(rights[:m])
	switch {
	case err != nil:
	case n == 0:
		err = io.EOF
	case flags&unix.MSG_CTRUNC != 0:
		err = errors.New("files of the message to the box were lost")
	default:
		err = decode(io.MultiReader(bytes.NewReader(head[:n]), c), v)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

// filesOf returns the files of control messages.
func filesOf(rights []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // another kind of control message
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "box"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
