package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Join connects to the server that another process of this user runs in a folder, with all rights in the account of campaigns. It
// also returns the key that signs that server's plans.
func Join(ctx context.Context, dir string) (*nats.Conn, nkeys.KeyPair, error) {
	connection, key, err := join(ctx, dir)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the NATS server of %s: %w", dir, err)
	}
	return connection, key, nil
}

func join(ctx context.Context, dir string) (*nats.Conn, nkeys.KeyPair, error) {
	address, err := os.ReadFile(filepath.Join(dir, addressFile))
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("no server has run there")
	}
	if err != nil {
		return nil, nil, err
	}
	host, port, err := net.SplitHostPort(strings.TrimSpace(string(address)))
	if err != nil {
		return nil, nil, err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	k, err := openKeys(filepath.Join(dir, keyFolder))
	if err != nil {
		return nil, nil, err
	}
	token, seed, err := k.coordinator(jwt.ConnectionTypeStandard)
	if err != nil {
		return nil, nil, err
	}
	connection, err := open(ctx, "tls://"+net.JoinHostPort(host, port), []nats.Option{nats.Name("coordinator"), nats.UserJWTAndSeed(token, seed),
		nats.RootCAs(filepath.Join(dir, authorityFile))})
	return connection, k.plan, err
}

// coordinator makes the credentials of a coordinator, for connections of one type.
func (k keys) coordinator(connections string) (token, seed string, err error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	secret, err := key.Seed()
	if err != nil {
		return "", "", err
	}
	claims, err := userClaims(key, "coordinator")
	if err != nil {
		return "", "", err
	}
	claims.AllowedConnectionTypes.Add(connections)
	token, err = claims.Encode(k.account)
	return token, string(secret), err
}
