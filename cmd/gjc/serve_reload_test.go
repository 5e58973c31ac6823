//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeCertificate writes a certificate for the loopback interface, and its key, into a directory.
func writeCertificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// serial returns the number of the certificate that a new connection gets.
func (s *served) serial() int64 {
	s.t.Helper()
	address, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(s.t.Context(), "tcp", address.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// status returns the status of a request for the metrics, with a token: 403 for one that is valid and not the administrator's.
func (s *served) status(token string) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), hang)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.url, "/acp")+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// reload sends SIGHUP.
func (s *served) reload() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

// TestServe_ReloadTLS checks what a server reads again after SIGHUP, and what it does not, while a turn runs.
func TestServe_ReloadTLS(t *testing.T) {
	t.Parallel()
	token, dir := ownToken(t), tempDir(t)
	cert, key := writeCertificate(t, dir, 1)
	trusted := filepath.Join(dir, "trusted.pem")
	data, err := os.ReadFile(cert)
	if err == nil {
		err = os.WriteFile(trusted, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	workspace := tempDir(t)
	s := startServe(t, nil, "--token-file", token, "--tls-cert", cert, "--tls-key", key, "--workspace", workspace)
	p := startPeer(t, peerOptions{command: []string{"connect", s.url, "--token-file", token}, env: []string{"SSL_CERT_FILE=" + trusted}})
	p.initialize(object{})
	p.work = workspace
	turn := p.prompt(p.session("auto"), "!bash until test -e go; do sleep 0.02; done; echo released")
	p.until("the command", func(m message) bool { return strings.Contains(m.line, `"in_progress"`) })
	if got := s.serial(); got != 1 {
		t.Errorf("the server begins with the certificate %d", got)
	}
	const other = "another-token-0123456789"
	if err := os.WriteFile(token, []byte(other+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, dir, 2)
	s.reload()
	for limit := time.Now().Add(hang); s.serial() != 2; {
		if time.Now().After(limit) {
			t.Fatal("the certificate is not replaced")
		}
	}
	// A token of --token-file counts from the start of the server to its end; others need no signal.
	if was, is := s.status("0123456789abcdef0123"), s.status(other); was != http.StatusForbidden || is != http.StatusUnauthorized {
		t.Errorf("the last token of the file: %d, the new one: %d", was, is)
	}
	made := strings.TrimSpace(s.gjc("serve", "token", "create", "--serve-dir", s.dir, "--user", "ann"))
	if got := s.status(made); got != http.StatusForbidden {
		t.Errorf("a token that was made meanwhile: %d", got)
	}
	// A wrong file changes nothing, and is reported.
	if err := os.WriteFile(cert, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.reload()
	for limit := time.Now().Add(hang); !strings.Contains(s.log.String(), "--tls-cert"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("the wrong certificate is not reported: %s", s.log)
		}
	}
	if got := s.serial(); got != 2 {
		t.Errorf("after a wrong certificate it has %d", got)
	}
	if err := os.WriteFile(filepath.Join(workspace, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if answer, before := p.answer(turn); !strings.Contains(answer.line, "end_turn") || !strings.Contains(strings.Join(lines(before), ""), "released") {
		t.Errorf("the turn ends with %s", answer.line)
	}
	p.stop()
}
