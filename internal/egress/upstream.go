package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// dialConnect asks an HTTP proxy for a tunnel.
func dialConnect(ctx context.Context, up *url.URL, address string) (_ net.Conn, err error) {
	host := up.Host
	if up.Port() == "" {
		port := "80"
		if up.Scheme == "https" {
			port = "443"
		}
		host = net.JoinHostPort(up.Hostname(), port)
	}
	var c net.Conn
	if up.Scheme == "https" {
		c, err = (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", host)
	} else {
		c, err = new(net.Dialer).DialContext(ctx, "tcp", host)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			_ = c.Close()
		}
	}()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: make(http.Header)}
	if up.User != nil {
		password, _ := up.User.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close() // a tunnel has none
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the machine's proxy answered %s", resp.Status)
	}
	return &buffered{c, r}, nil
}
