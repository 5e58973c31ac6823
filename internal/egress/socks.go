package egress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Constants of SOCKS5 (RFC 1928).
const (
	socksVersion = 5

	methodNone = 0
	methodFail = 0xff

	commandConnect = 1

	typeIPv4 = 1
	typeName = 3
	typeIPv6 = 4

	replyOK          = 0
	replyFailed      = 1
	replyNotAllowed  = 2
	replyUnreachable = 4
	replyCommand     = 7
)

// errSOCKS reports a malformed request.
var errSOCKS = errors.New("malformed SOCKS5 request")

// socks serves a client of SOCKS5, which may only connect.
func (p *Proxy) socks(c *buffered) {
	_ = c.SetReadDeadline(time.Now().Add(headerLimit))
	command, address, err := negotiate(c)
	if err != nil {
		return
	}
	if command != commandConnect {
		_ = reply(c, replyCommand)
		return
	}
	out, err := p.dial(p.ctx, "tcp", address)
	if err != nil {
		code := byte(replyUnreachable)
		if _, ok := errors.AsType[*refusedError](err); ok {
			code = replyNotAllowed
		}
		_ = reply(c, code)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if reply(c, replyOK) != nil {
		_ = out.Close()
		return
	}
	p.join(c, out)
}

// negotiate reads the greeting and the request of a client.
func negotiate(c io.ReadWriter) (command byte, address string, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:2]); err != nil {
		return 0, "", err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(c, methods); err != nil {
		return 0, "", err
	}
	if !slices.Contains(methods, methodNone) {
		_, _ = c.Write([]byte{socksVersion, methodFail})
		return 0, "", errSOCKS
	}
	if _, err := c.Write([]byte{socksVersion, methodNone}); err != nil {
		return 0, "", err
	}
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, "", err
	}
	host := ""
	switch head[3] {
	case typeIPv4, typeIPv6:
		addr := make([]byte, 4)
		if head[3] == typeIPv6 {
			addr = make([]byte, 16)
		}
		if _, err := io.ReadFull(c, addr); err != nil {
			return 0, "", err
		}
		ip, _ := netip.AddrFromSlice(addr)
		host = ip.Unmap().String()
	case typeName:
		var n [1]byte
		if _, err := io.ReadFull(c, n[:]); err != nil {
			return 0, "", err
		}
		name := make([]byte, n[0])
		if _, err := io.ReadFull(c, name); err != nil {
			return 0, "", err
		}
		host = string(name)
	default:
		return 0, "", errSOCKS
	}
	var port [2]byte
	if _, err := io.ReadFull(c, port[:]); err != nil {
		return 0, "", err
	}
	if head[0] != socksVersion || host == "" {
		return 0, "", errSOCKS
	}
	return head[1], net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port[:])))), nil
}

// reply answers a request. The address in it is not known to be used by any client.
func reply(w io.Writer, code byte) error {
	_, err := w.Write([]byte{socksVersion, code, 0, typeIPv4, 0, 0, 0, 0, 0, 0})
	return err
}
