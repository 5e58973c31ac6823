package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writePair writes a certificate for a name, and its key.
func writePair(t *testing.T, cert, key, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// served returns the name in the certificate that a new connection gets.
func served(t *testing.T, pair *keyPair) string {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Server(server, pair.config()).HandshakeContext(t.Context())
	}()
	conn := tls.Client(client, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the certificate is looked at below
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := conn.ConnectionState().PeerCertificates[0].DNSNames[0]
	<-done
	_ = client.Close()
	_ = server.Close()
	return name
}

func TestKeyPair_Reload(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, cert, key, "old.example.com")
	pair, err := openKeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if got := served(t, pair); got != "old.example.com" || !pair.names("old.example.com") || pair.names("new.example.com") {
		t.Errorf("it serves %s", got)
	}
	writePair(t, cert, key, "new.example.com")
	if err := pair.reload(); err != nil {
		t.Fatal(err)
	}
	if got := served(t, pair); got != "new.example.com" || !pair.names("new.example.com") || pair.names("old.example.com") {
		t.Errorf("after it was read again, it serves %s", got)
	}
	// A file that is wrong changes nothing.
	if err := os.WriteFile(cert, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pair.reload(); err == nil {
		t.Error("a wrong certificate is no error")
	}
	if got := served(t, pair); got != "new.example.com" {
		t.Errorf("after an error it serves %s", got)
	}
}
